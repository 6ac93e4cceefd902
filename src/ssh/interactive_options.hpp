// The options of an interactive session.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ssh/terminal.hpp"

namespace fastgpu::ssh {

struct InteractiveOptions {
  std::string command{};  ///< A script for /bin/sh; empty for the login shell itself.
  int in = 0;             ///< The local descriptors, borrowed. Their modes are not changed.
  int out = 1;
  int err = 2;
  /// The terminal for the remote side; absent for a session without one. With a terminal, "~." at
  /// the start of a line leaves a session that hangs, and "~?" lists the other escape keys.
  std::optional<TerminalKind> terminal{};
  /// The variables offered to the remote side, which accepts those that its settings allow: mostly
  /// LANG and LC_*.
  std::vector<std::pair<std::string, std::string>> variables{};
  /// Called once the remote side has started and receives the user's keys.
  std::function<void()> on_started{};
  std::function<WindowSize()> window_size{};  ///< Called at the start and after each change.
  /// Becomes readable when the window's size changes; read here. -1 if it is not used.
  int resize_fd = -1;
  std::chrono::milliseconds connect_timeout{10'000};
};

}  // namespace fastgpu::ssh
