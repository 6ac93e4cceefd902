// The kind of a failure as an exit status, so that it survives the way back from a node.
#pragma once

#include <optional>

#include "base/error.hpp"

namespace fastgpu::transfer {

/// Everything was sent but files that vanished meanwhile, which are named on the error output, a
/// line each.
inline constexpr int kSomeVanished = 24;

inline constexpr int kFirstFailureStatus = 64;  ///< Below what shells use for themselves.

constexpr int failure_status(ErrorKind kind) noexcept {
  return kFirstFailureStatus + static_cast<int>(kind);
}

/// Absent where `status` is none of failure_status.
constexpr std::optional<ErrorKind> failure_kind(int status) noexcept {
  const int number = status - kFirstFailureStatus;
  if (number < 0 || number > static_cast<int>(ErrorKind::internal)) return std::nullopt;
  return static_cast<ErrorKind>(number);
}

}  // namespace fastgpu::transfer
