// One session at the user's fingertips: bytes both ways as they come, with a terminal or without.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/cancel.hpp"
#include "ssh/client.hpp"
#include "ssh/terminal.hpp"

namespace fastgpu::ssh {

struct InteractiveOptions {
  std::string command{};  ///< Read by the remote login shell; empty for that shell itself.
  int in = 0;             ///< Descriptors of this side, borrowed and left in their modes.
  int out = 1;
  int err = 2;
  /// The type of the terminal, "xterm-256color"; absent where none is wanted at the far end.
  std::optional<std::string> terminal{};
  std::function<WindowSize()> window_size{};  ///< Asked at the start and after each change.
  int resize_fd = -1;  ///< Readable after a change of the window's size; read here. -1 for none.
  std::chrono::milliseconds connect_timeout{10'000};
};

/// Returns once the far end has ended. Our agent's keys are never offered there. Throws as
/// Client::run reports, and local where our own output is closed.
Exit run_interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel);

}  // namespace fastgpu::ssh
