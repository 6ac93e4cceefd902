// The kind of a failure as an exit status, so that it survives the way back from a node.
#pragma once

#include <optional>

#include "base/error.hpp"

namespace fastgpu::transfer {

/// The status of a copy that is complete but for files that vanished meanwhile. The error output
/// names them, one a line.
inline constexpr int kSomeVanished = 24;

inline constexpr int kFirstFailureStatus = 64;  ///< Below what shells use for themselves.

constexpr int failure_status(ErrorKind kind) noexcept {
  return kFirstFailureStatus + static_cast<int>(kind);
}

/// Returns the kind in `status`; absent if it is not one of failure_status.
constexpr std::optional<ErrorKind> failure_kind(int status) noexcept {
  const int number = status - kFirstFailureStatus;
  if (number < 0 || number > static_cast<int>(ErrorKind::internal)) return std::nullopt;
  return static_cast<ErrorKind>(number);
}

}  // namespace fastgpu::transfer
