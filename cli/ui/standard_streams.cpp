#include "cli/ui/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::cli {

int errors_descriptor() noexcept {
  return STDERR_FILENO;
}

UniqueFd leave_output() {
  UniqueFd output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null || ::dup2(null.get(), STDOUT_FILENO) < 0)
    throw system_error("leaving the standard output", errno);
  return output;
}

}  // namespace fastgpu::cli
