// The one exception type of fastgpu. Its kind tells the caller what it can do about it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fastgpu {

enum class ErrorKind : std::uint8_t {
  usage,        ///< The request is wrong: the user must change a flag or a file.
  denied,       ///< Credentials or rights are missing or refused.
  capacity,     ///< Stock, quota, disk space or addresses are exhausted.
  not_found,    ///< Something that the user named does not exist.
  conflict,     ///< Something exists already in another form, or another process is changing it.
  transient,    ///< May succeed if repeated unchanged: lost connections, HTTP 429 and 5xx.
  timeout,      ///< The caller's own deadline has passed.
  interrupted,  ///< The user requested a stop.
  remote,       ///< The other side answered, and a repetition would not help.
  local,        ///< This machine failed: a system call, a missing program, a broken file.
  internal,     ///< A bug in fastgpu.
};

/// A failure with its kind. Catch it to add context, to retry, or (in `main`) to exit.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

  /// Returns the failure with one more frame of context: "creating train-3: HTTP 503 ...".
  [[nodiscard]] Error during(std::string_view action) const {
    return {kind_, std::string(action) + ": " + what()};
  }

 private:
  ErrorKind kind_;
};

/// Returns the error for a failed system call, from its errno: "opening /x: Permission denied". The
/// kind is capacity for a full disk, denied for missing rights, else local.
Error system_error(std::string_view doing, int error_number);

/// Returns the error for a failed write to the descriptor 1 or 2: "standard output: No space left
/// on device". The kinds are those of system_error.
Error output_error(int fd, int error_number);

}  // namespace fastgpu
