#include "comm/gpu/staging_slot.hpp"

#include "comm/fusion/fusion.hpp"

namespace fastgpu::comm::gpu {

StagingSlot::StagingSlot(Device& device, Communicator& ranks, StreamHandle stream)
    : device_(device), ranks_(ranks), stream_(stream), arrived_(event_of(device)) {}

void StagingSlot::make_room(std::size_t bytes) {
  if (memory_ && memory_->bytes().size() >= bytes) return;
  finish_quietly(device_, stream_);  // The part before may still be on its way back.
  pinned_.reset();
  memory_.reset();
  memory_ = std::make_unique<FusionBuffer>(ranks_, bytes);
  pinned_ = std::make_unique<Pinned>(device_, memory_->bytes());
}

void StagingSlot::fetch(std::span<const std::byte> in, std::span<std::byte> out) {
  const bool is_in_place = in.data() == out.data();
  const std::size_t out_at =
      is_in_place ? 0 : (in.size() + kFusionAlignment - 1) / kFusionAlignment * kFusionAlignment;
  make_room(out_at + out.size());
  here_ = {memory_->bytes().first(in.size()), memory_->bytes().subspan(out_at, out.size())};
  out_ = out;
  device_.copy(here_.in, in, stream_);
  device_.record(arrived_.get(), stream_);
}

StagingSlot::Here StagingSlot::arrived() const {
  device_.synchronize(arrived_.get());
  return here_;
}

void StagingSlot::put_back() {
  under_way_->wait();
  under_way_.reset();
  device_.copy(out_, here_.out, stream_);
}

}  // namespace fastgpu::comm::gpu
