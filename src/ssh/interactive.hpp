// One session at the user's fingertips: bytes both ways as they come, with a terminal or without.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.hpp"
#include "ssh/client.hpp"
#include "ssh/terminal.hpp"

namespace fastgpu::ssh {

struct InteractiveOptions {
  std::string command{};  ///< A script for /bin/sh; empty for the login shell itself.
  int in = 0;             ///< Descriptors of this side, borrowed and left in their modes.
  int out = 1;
  int err = 2;
  /// What the far end is to have as a terminal; absent where none is wanted. With one, "~." at the
  /// start of a line leaves a session that hangs, and "~?" lists the other keys that are ours.
  std::optional<TerminalKind> terminal{};
  /// Offered to the far end, which takes what its settings allow: mostly LANG and LC_*.
  std::vector<std::pair<std::string, std::string>> variables{};
  /// Called once the far end has started: from now on keys are meant for it.
  std::function<void()> on_started{};
  std::function<WindowSize()> window_size{};  ///< Asked at the start and after each change.
  int resize_fd = -1;  ///< Readable after a change of the window's size; read here. -1 for none.
  std::chrono::milliseconds connect_timeout{10'000};
};

/// Returns once the far end has ended. Our agent's keys are never offered there. Throws as
/// Client::run reports, interrupted after "~.", and local where our own output is closed.
Exit run_interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel);

}  // namespace fastgpu::ssh
