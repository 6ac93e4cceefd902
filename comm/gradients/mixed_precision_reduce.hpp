// The sum of 16-bit numbers over all ranks, added in float32 and rounded afterwards.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm {

/// The communicators of the sums.
struct ReductionLevels {
  Communicator inside;                 ///< The ranks of this node; or all, if nodes do not matter.
  std::optional<Communicator> across;  ///< One rank of each node: those with the same place in it.
};

/// Returns true if there are several nodes, each with the same number of ranks, several each.
bool has_two_levels(const Topology& topology);

/// Splits the ranks, by a collective call. Inside nodes first, if each of several nodes has the
/// same number of ranks: then the bytes between two nodes do not grow with that number. Otherwise
/// all at once.
ReductionLevels reduction_levels_of(Communicator& ranks);

/// One level of the sum. Every rank adds up one block of the data, in the order of the ranks.
class BlockSum {
 public:
  /// Begins. Borrows both; `data` has whole elements of `type`, float16 or bfloat16. All calls are
  /// made on every rank, once, and in the same order among the calls of this communicator.
  BlockSum(Communicator& communicator, std::span<std::byte> data, ElementType type);

  /// Waits for this rank's block, and for the rest of less than an element for each rank, which all
  /// ranks add up.
  void reduce();
  std::span<std::byte> block() const noexcept { return block_; }  ///< Returns this rank's block.
  std::span<std::byte> rest() const noexcept { return rest_; }

  void broadcast();  ///< Sends this rank's block on, as it is now.
  void wait() { blocks_from_all_->wait(); }

 private:
  void add_rows(std::span<std::byte> to, std::span<const std::byte> rows) const;

  Communicator* communicator_;
  ElementType type_;
  /// The largest part of the data that makes one block for every rank.
  std::span<std::byte> blocks_;
  std::span<std::byte> block_;
  std::span<std::byte> rest_;
  std::unique_ptr<std::byte[]> memory_;  ///< Memory for the data of the other ranks.
  std::span<std::byte> block_rows_;
  std::span<std::byte> rest_rows_;
  std::optional<Handle> blocks_to_add_;
  std::optional<Handle> rests_to_add_;
  std::optional<Handle> blocks_from_all_;
};

/// The sum over all ranks: the result is the same to the last bit on every rank. It is rounded once
/// a level. Twice the bytes of a rank's data are in memory until it has added up.
class MixedPrecisionReduce {
 public:
  /// Begins, as BlockSum does. The functions below are called in their order.
  MixedPrecisionReduce(ReductionLevels& levels, std::span<std::byte> data, ElementType type)
      : levels_(&levels), type_(type), inside_(levels.inside, data, type) {}

  void reduce_in_node();
  void reduce_across_nodes();
  void broadcast_in_node();
  void wait() { inside_.wait(); }

 private:
  ReductionLevels* levels_;
  ElementType type_;
  BlockSum inside_;
  std::optional<BlockSum> across_;
  std::optional<BlockSum> rest_across_;
};

}  // namespace fastgpu::comm
