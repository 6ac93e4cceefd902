// Runs a short local command to its end and keeps its output.
#pragma once

#include <chrono>
#include <string>

#include "base/cancel.hpp"
#include "base/units.hpp"
#include "process/command.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::process {

struct CaptureOptions {
  std::string input{};   ///< The text for its standard input, which ends after it.
  Bytes limit{1 << 20};  ///< The limit for each stream; the bytes after it are dropped.
  std::chrono::milliseconds timeout{30'000};
};

struct Captured {
  ExitStatus status{};
  std::string out{};
  std::string err{};
  bool truncated = false;  ///< True if bytes were dropped.
};

/// Runs `command` with pipes for its three streams and in a process group of its own. Throws
/// timeout or interrupted after killing the whole group, and the errors of Child's constructor.
/// Does not throw for an exit status.
Captured capture(Command command, const CaptureOptions& options, const Cancel& cancel);

}  // namespace fastgpu::process
