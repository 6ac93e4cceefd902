#include "base/error.hpp"

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

}  // namespace

Error system_error(std::string_view doing, int error_number) {
  return {kind_of(error_number),
          std::string(doing) + ": " + std::generic_category().message(error_number)};
}

}  // namespace fastgpu
