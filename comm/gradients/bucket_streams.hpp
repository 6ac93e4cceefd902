// The communicators on which buckets travel, several at the same time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/codec_traits.hpp"
#include "comm/gradients/mixed_precision_reduce.hpp"

namespace fastgpu::comm {

/// The streams of a set of gradients, with what each of them needs for its way of summing.
class BucketStreams {
 public:
  /// Splits `ranks` into so many streams for this exchange, by collective calls.
  BucketStreams(Communicator& ranks, int streams, Exchange exchange);

  /// Sets the plan of later all-reduces on every stream.
  void use_plan(const AllReducePlan& plan);

  std::span<Communicator> first(std::size_t streams) { return std::span(all_).first(streams); }
  /// Returns one for each stream if matrices are factors; empty otherwise.
  std::span<Communicator> factors() noexcept { return factors_; }
  /// Returns one for each stream if 16-bit numbers or codes are added so; empty otherwise.
  std::span<ReductionLevels> levels() noexcept { return levels_; }

 private:
  std::vector<Communicator> all_;
  std::vector<Communicator> factors_;
  std::vector<ReductionLevels> levels_;
};

}  // namespace fastgpu::comm
