// Runs a short local command to its end and keeps what it wrote.
#pragma once

#include <chrono>
#include <string>

#include "base/cancel.hpp"
#include "base/units.hpp"
#include "process/command.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::process {

struct CaptureOptions {
  std::string input{};   ///< Given to its standard input, which then ends.
  Bytes limit{1 << 20};  ///< For each stream; what comes after is dropped.
  std::chrono::milliseconds timeout{30'000};
};

struct Captured {
  ExitStatus status{};
  std::string out{};
  std::string err{};
  bool truncated = false;  ///< Something was dropped.
};

/// Runs `command` with pipes for its three streams and in a group of its own. Throws timeout or
/// interrupted, the whole group killed; as Child's constructor; never for an exit status.
Captured capture(Command command, const CaptureOptions& options, const Cancel& cancel);

}  // namespace fastgpu::process
