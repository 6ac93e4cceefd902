// The one exception type of fastgpu. Its kind shows the caller's options.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fastgpu {

enum class ErrorKind : std::uint8_t {
  usage,        ///< The request is wrong: the user must change a flag or a file.
  denied,       ///< Credentials or rights are missing or refused.
  capacity,     ///< No stock, no quota, no room on the disk, no free address.
  not_found,    ///< A thing that the user named does not exist.
  conflict,     ///< Exists already in another form, or another process is changing it.
  transient,    ///< Worth repeating unchanged: timeouts, lost connections, HTTP 429 and 5xx.
  timeout,      ///< The caller's own deadline has passed.
  interrupted,  ///< The user requested a stop.
  remote,       ///< The other side answered, and the answer is final.
  local,        ///< This machine refused: a system call, a missing program, a broken file.
  internal,     ///< A bug in fastgpu.
};

/// A failure with its kind. Catch it to add a frame, to retry, or (in `main`) to exit.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

  /// Returns the failure with one frame more: "creating train-3: HTTP 503 ...".
  [[nodiscard]] Error during(std::string_view action) const {
    return {kind_, std::string(action) + ": " + what()};
  }

 private:
  ErrorKind kind_;
};

/// Returns the failure of a system call, from errno: "opening /x: Permission denied". Its kind is
/// capacity for a full disk, denied for missing rights, local for the rest.
Error system_error(std::string_view doing, int error_number);

}  // namespace fastgpu
