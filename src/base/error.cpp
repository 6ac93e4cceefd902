#include "base/error.hpp"

#include <sys/resource.h>

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
      return ErrorKind::capacity;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::denied;
    default:
      return ErrorKind::local;
  }
}

/// What to do about it; empty where the message says all.
std::string advice_on(int error_number) {
  rlimit limit{};
  if (error_number != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
  return " (this process may open " + std::to_string(limit.rlim_cur) +
         ": raise that with `ulimit -n`)";
}

}  // namespace

Error system_error(std::string_view doing, int error_number) {
  return {kind_of(error_number), std::string(doing) + ": " +
                                     std::generic_category().message(error_number) +
                                     advice_on(error_number)};
}

}  // namespace fastgpu
