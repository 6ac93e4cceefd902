// The sum of 16-bit numbers over all ranks, added in float32 and rounded once.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "comm/communicator.hpp"

namespace fastgpu::comm {

/// Every rank adds up one block of the data, in the order of the ranks: the result is the same to
/// the last bit on all of them. Twice the bytes of a rank's data are in memory meanwhile.
class WideSum {
 public:
  /// Begins. Borrows both; `data` is whole elements of `type`, float16 or bfloat16.
  WideSum(Communicator& communicator, std::span<std::byte> data, ElementType type);

  /// Waits for this rank's block, adds it up and sends it on. On every rank, once, and in the same
  /// order among the calls of this communicator.
  void add_up();

  /// After add_up: waits for the blocks of the others.
  void wait() { sums_->wait(); }

 private:
  void add_rows(std::span<std::byte> to, std::span<const std::byte> rows) const;

  Communicator& communicator_;
  std::span<std::byte> blocks_;  ///< As much of the data as makes one block for every rank.
  std::span<std::byte> tail_;    ///< The rest, which every rank adds up.
  ElementType type_;
  std::unique_ptr<std::byte[]> memory_;  ///< For what comes from the others.
  std::span<std::byte> block_rows_;
  std::span<std::byte> tail_rows_;
  std::optional<Handle> exchange_;
  std::optional<Handle> tails_;
  std::optional<Handle> sums_;
};

}  // namespace fastgpu::comm
