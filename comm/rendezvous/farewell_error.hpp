// The reason of another rank that cannot join.
#pragma once

#include "base/error.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// The reason of a rank, as this one has heard it.
class FarewellError : public Error {
 public:
  FarewellError(const Error& error, Rank rank) : Error(error), rank_(rank) {}
  Rank rank() const noexcept { return rank_; }

 private:
  Rank rank_;
};

}  // namespace fastgpu::comm
