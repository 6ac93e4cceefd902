#include "cli/commands/shared/standard_input.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fastgpu::cli {

bool is_passed_on(int fd) noexcept {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return false;
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) return false;
  return S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode);
}

bool has_something_to_read(int fd) noexcept {
  if (!is_passed_on(fd)) return false;
  struct stat about {};
  if (::fstat(fd, &about) != 0) return false;
  if (S_ISREG(about.st_mode)) {
    const off_t at = ::lseek(fd, 0, SEEK_CUR);
    return at >= 0 && at < about.st_size;
  }
  int waiting = 0;
  return ::ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

}  // namespace fastgpu::cli
