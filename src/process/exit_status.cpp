#include "process/exit_status.hpp"

#include <sys/wait.h>

#include <cstring>

namespace fastgpu::process {

ExitStatus exit_status_of(int wait_status) noexcept {
  if (WIFSIGNALED(wait_status)) return {.code = 0, .signal = WTERMSIG(wait_status)};
  return {.code = WEXITSTATUS(wait_status), .signal = 0};
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string describe(const ExitStatus& how) {
  if (how.signal != 0) return "killed by " + signal_name(how.signal);
  return "exited with " + std::to_string(how.code);
}

}  // namespace fastgpu::process
