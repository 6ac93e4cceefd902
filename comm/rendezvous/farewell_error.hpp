// The reason of another rank that cannot join.
#pragma once

#include "base/error.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// The reason of a rank, as this one has heard it.
class FarewellError : public CausedError {
 public:
  FarewellError(const Error& error, Rank rank) : CausedError(error, rank) {}
  Rank rank() const noexcept { return *culprit(); }
};

}  // namespace fastgpu::comm
