// Encodes the kind of a failure as an exit status, so that it can be returned from a node.
#pragma once

#include <optional>

#include "base/error.hpp"

namespace fastgpu::transfer {

/// The status of a copy that is complete except for the entries that stderr has, as a NotSent.
inline constexpr int kSomeNotSent = 24;

/// Smaller than the statuses that shells use for themselves.
inline constexpr int kFirstFailureStatus = 64;

constexpr int failure_status(ErrorKind kind) noexcept {
  return kFirstFailureStatus + static_cast<int>(kind);
}

/// Returns the kind of a status of failure_status(); absent for any other status.
constexpr std::optional<ErrorKind> failure_kind(int status) noexcept {
  const int number = status - kFirstFailureStatus;
  if (number < 0 || number > static_cast<int>(ErrorKind::internal)) return std::nullopt;
  return static_cast<ErrorKind>(number);
}

}  // namespace fastgpu::transfer
