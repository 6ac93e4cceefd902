#include "comm/gradients/planned_buffer.hpp"

#include <utility>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {

void PlannedBuffer::lay_out(FusionPlan plan) {
  plan_ = std::move(plan);
  plan_hash_ = hash(plan_);
  if (!buffer_ || buffer_->bytes().size() < plan_.buffer_bytes) {
    buffer_.reset();
    buffer_ = std::make_unique<FusionBuffer>(communicator_, plan_.buffer_bytes);
  } else {
    buffer_->clear();  // Gaps are summed too.
  }
  const auto ranks_here = static_cast<std::size_t>(communicator_.topology().largest_node());
  exceeds_caches_ = plan_.buffer_bytes * ranks_here > last_cache_bytes();
}

std::span<std::byte> PlannedBuffer::of(GradientId id) const {
  return bytes().subspan(plan_.offset_of[id.value], table_.elements(id) * size_of(wire_[id.value]));
}

std::span<std::byte> PlannedBuffer::of(const GradientPiece& piece) const {
  return bytes().subspan(piece.offset, piece.count * size_of(wire_[piece.gradient.value]));
}

}  // namespace fastgpu::comm
