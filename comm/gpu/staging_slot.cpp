#include "comm/gpu/staging_slot.hpp"

#include "base/error.hpp"
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

/// Returns whether a message goes directly from or to the device's memory.
bool StagingSlot::stays(std::span<const std::byte> in, std::span<std::byte> out, Rank peer) {
  // The network only reads what is sent.
  const std::span<std::byte> sent(const_cast<std::byte*>(in.data()), in.size());
  const std::span<std::byte> memory = in.empty() ? out : sent;
  if (!ranks_.take_device_memory(peer, memory)) return false;
  taken_ = Taken{peer, memory};
  here_ = {sent, out};
  device_.record(arrived_.get(), stream_);
  return true;
}

void StagingSlot::fetch(std::span<const std::byte> in, std::span<std::byte> out,
                        std::optional<Rank> peer) {
  if (peer && stays(in, out, *peer)) return;
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
  if (!taken_) return device_.copy(out_, here_.out, stream_);
  const bool has_come = !here_.out.empty();
  give_back();
  if (has_come) device_.settle_network_writes();
}

void StagingSlot::give_back() {
  ranks_.give_back_device_memory(taken_->peer, taken_->memory);
  taken_.reset();
}

void StagingSlot::give_up() noexcept {
  under_way_.reset();
  if (!taken_) return;
  try {
    give_back();
  } catch (const Error&) {
    taken_.reset();  // This process was forked from the rank.
  }
}

}  // namespace fastgpu::comm::gpu
