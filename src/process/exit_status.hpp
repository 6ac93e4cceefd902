// How a process ended.
#pragma once

#include <compare>
#include <string>

namespace fastgpu::process {

struct ExitStatus {
  int code = 0;    ///< What it exited with; 0 where a signal ended it.
  int signal = 0;  ///< The signal that ended it; 0 where it exited by itself.

  bool ok() const noexcept { return code == 0 && signal == 0; }
  /// As a shell shows it: the code, or 128 + the signal.
  int shell_code() const noexcept { return signal != 0 ? 128 + signal : code; }
  friend auto operator<=>(const ExitStatus&, const ExitStatus&) = default;
};

/// From what waitpid(2) stored.
ExitStatus exit_status_of(int wait_status) noexcept;

std::string signal_name(int signal);          ///< "SIGSEGV"; "signal 99" where it has no name.
std::string describe(const ExitStatus& how);  ///< "exited with 3", "killed by SIGSEGV"

}  // namespace fastgpu::process
