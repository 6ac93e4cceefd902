// The exception that is being handled, as the one type that may cross a thread.
#pragma once

#include <exception>
#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace fastgpu {

/// Returns the error for a failure of std::filesystem, whose own words are for programmers: it says
/// which file, and what the system says about it.
inline Error filesystem_failure(const std::filesystem::filesystem_error& e) {
  std::string what = e.path1().empty() ? "using a file" : "using " + e.path1().string();
  if (!e.path2().empty()) what += " and " + e.path2().string();
  return system_error(what, e.code().value());
}

/// Returns the exception being handled: an Error unchanged, a failure of std::filesystem as
/// filesystem_failure(), anything else as ErrorKind::internal with its own message. Call it in a
/// catch block.
inline Error caught_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::filesystem::filesystem_error& e) {
    return filesystem_failure(e);
  } catch (const std::exception& e) {
    return {ErrorKind::internal, e.what()};
  } catch (...) {
    return {ErrorKind::internal, "an exception of an unknown type"};
  }
}

}  // namespace fastgpu
