#include "comm/c_api/exception_border.hpp"

#include <string>

namespace fastgpu::comm::c_api {
namespace {

/// C has no exceptions to carry the sentence in, and after fgc_init failed there is no handle
/// either. This is the library's only variable that belongs to a single thread.
thread_local std::string last_error;

}  // namespace

fgc_status status_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::not_found:
      return FGC_USAGE;
    case ErrorKind::denied:
      return FGC_DENIED;
    case ErrorKind::capacity:
      return FGC_CAPACITY;
    case ErrorKind::conflict:
      return FGC_CONFLICT;
    case ErrorKind::transient:
    case ErrorKind::timeout:
      return FGC_TIMEOUT;
    case ErrorKind::interrupted:
      return FGC_INTERRUPTED;
    case ErrorKind::remote:
      return FGC_REMOTE;
    case ErrorKind::local:
      return FGC_LOCAL;
    case ErrorKind::internal:
      return FGC_INTERNAL;
  }
  return FGC_INTERNAL;
}

fgc_status fail(fgc_status status, const char* sentence) noexcept {
  try {
    last_error = sentence;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

const char* last_sentence() noexcept {
  return last_error.c_str();
}

}  // namespace fastgpu::comm::c_api
