// An error with the rank that has caused it.
#pragma once

#include <optional>

#include "base/error.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// In place of a culprit: a connection between two ranks is at fault, and neither of them alone.
constexpr Rank kPair{-2};

/// A failure of a call, and the rank without which it would not have failed; absent if that is
/// unknown, or this rank itself. A copy as Error loses the rank.
class CausedError : public Error {
 public:
  CausedError(const Error& error) : Error(error) {}  // NOLINT(google-explicit-constructor)
  CausedError(const Error& error, Rank culprit) : Error(error), culprit_(culprit) {}

  const std::optional<Rank>& culprit() const noexcept { return culprit_; }

 private:
  std::optional<Rank> culprit_{};
};

}  // namespace fastgpu::comm
