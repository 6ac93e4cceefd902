// The exception that is being handled, as the one type that may cross a thread.
#pragma once

#include <exception>
#include <string>

#include "base/error.hpp"

namespace fastgpu {

/// Returns the exception being handled: an Error unchanged, anything else as ErrorKind::internal
/// with its own message. Call it in a catch block.
inline Error caught_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    return {ErrorKind::internal, e.what()};
  } catch (...) {
    return {ErrorKind::internal, "an exception of an unknown type"};
  }
}

}  // namespace fastgpu
