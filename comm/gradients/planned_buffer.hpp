// The fusion buffer of a set of gradients, laid out by a plan of buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/fusion/fusion_buffer.hpp"

namespace fastgpu::comm {

/// A plan, and the memory for its buckets. There is no memory before lay_out().
class PlannedBuffer {
 public:
  /// Borrows everything; `wire` has the type on the wire of each gradient, by id.
  PlannedBuffer(Communicator& communicator, const GradientTable& table,
                const std::vector<ElementType>& wire)
      : communicator_(communicator), table_(table), wire_(wire) {}

  /// Takes a plan. All bytes are 0 after it; they are at their old place if there is room for them.
  /// The old plan and its memory are borrowed by no other object at that time.
  void lay_out(FusionPlan plan);

  const FusionPlan& plan() const noexcept { return plan_; }
  std::uint64_t plan_hash() const noexcept { return plan_hash_; }
  std::span<std::byte> bytes() const noexcept { return buffer_->bytes(); }
  std::span<std::byte> of(GradientId id) const;  ///< Returns the place of a gradient.
  std::span<std::byte> of(const GradientPiece& piece) const;

  /// Returns true if the buffers of a node's ranks exceed its caches: what is packed is in memory
  /// then, when it is read.
  bool exceeds_caches() const noexcept { return exceeds_caches_; }

 private:
  Communicator& communicator_;
  const GradientTable& table_;
  const std::vector<ElementType>& wire_;
  FusionPlan plan_;
  std::uint64_t plan_hash_ = 0;
  std::unique_ptr<FusionBuffer> buffer_;
  bool exceeds_caches_ = false;
};

}  // namespace fastgpu::comm
