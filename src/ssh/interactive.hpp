// An interactive session: bytes both ways as they arrive, with a terminal or without.
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
  int in = 0;             ///< The descriptors of this side, borrowed; their modes are not changed.
  int out = 1;
  int err = 2;
  /// The terminal for the far end; absent for a session without one. With a terminal, "~." at the
  /// start of a line leaves a session that hangs, and "~?" lists the other escape keys.
  std::optional<TerminalKind> terminal{};
  /// The variables offered to the far end, which takes those that its settings allow: mostly LANG
  /// and LC_*.
  std::vector<std::pair<std::string, std::string>> variables{};
  /// Called once the far end has started and receives the user's keys.
  std::function<void()> on_started{};
  std::function<WindowSize()> window_size{};  ///< Called at the start and after each change.
  int resize_fd = -1;  ///< Readable after a change of the window's size; read here. -1 if not used.
  std::chrono::milliseconds connect_timeout{10'000};
};

/// Returns once the far end has ended. Our agent's keys are never offered there. Throws as
/// Client::run reports, interrupted after "~.", and local if our own output is closed.
Exit run_interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel);

}  // namespace fastgpu::ssh
