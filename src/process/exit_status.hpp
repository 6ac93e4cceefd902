// The exit status of a process.
#pragma once

#include <compare>
#include <string>

namespace fastgpu::process {

struct ExitStatus {
  int code = 0;    ///< The exit code; 0 if a signal ended the process.
  int signal = 0;  ///< The signal that ended it; 0 after a normal exit.

  bool ok() const noexcept { return code == 0 && signal == 0; }
  /// Returns the status as a shell reports it: the code, or 128 + the signal.
  int shell_code() const noexcept { return signal != 0 ? 128 + signal : code; }
  friend auto operator<=>(const ExitStatus&, const ExitStatus&) = default;
};

/// Converts the status from waitpid(2).
ExitStatus exit_status_of(int wait_status) noexcept;

std::string signal_name(int signal);          ///< "SIGSEGV"; "signal 99" for an unknown one.
std::string describe(const ExitStatus& how);  ///< "exited with 3", "killed by SIGSEGV"

}  // namespace fastgpu::process
