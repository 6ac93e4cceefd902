#include "cli/commands/shared/standard_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace fastgpu::cli {

bool is_passed_on(int fd) noexcept {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return false;
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) return false;
  return S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode);
}

}  // namespace fastgpu::cli
