// The exception that is being handled, as the one type that may cross a thread.
#pragma once

#include <exception>
#include <string>

#include "base/error.hpp"

namespace fastgpu {

/// Returns what is being handled: an Error as it is, anything else as ErrorKind::internal with its
/// own words. To be called in a catch block.
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
