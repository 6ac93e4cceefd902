#include "base/error.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace fastgpu {
namespace {

ErrorKind kind_of(int error_number) noexcept {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return ErrorKind::capacity;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::denied;
    default:
      return ErrorKind::local;
  }
}

/// Returns advice about a limit of this process that caused the error; empty for any other cause.
std::string advice_for(int error_number) {
  rlimit limit{};
  if (error_number == EFBIG && ::getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY)
    return " (a file may have " + std::to_string(limit.rlim_cur) +
           " bytes here: run `ulimit -f unlimited`)";
  if (error_number != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
  return " (this process may have " + std::to_string(limit.rlim_cur) + " open: run `ulimit -n " +
         std::to_string(std::max<rlim_t>(1'024, 2 * limit.rlim_cur)) + "`)";
}

}  // namespace

Error system_error(std::string_view doing, int error_number) {
  return {kind_of(error_number), std::string(doing) + ": " +
                                     std::generic_category().message(error_number) +
                                     advice_for(error_number)};
}

Error output_error(int fd, int error_number) {
  const std::string name = fd == STDERR_FILENO ? "standard error" : "standard output";
  // A closed output has no room, as a full disk has none.
  if (error_number == EBADF) return {ErrorKind::capacity, name + " is closed"};
  return system_error(name, error_number);
}

}  // namespace fastgpu
