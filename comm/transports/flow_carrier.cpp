#include "comm/transports/flow_carrier.hpp"

#include <utility>

#include "base/error.hpp"
#include "comm/transports/tcp_frame.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kBlocksAChunk = 8;

}  // namespace

void FlowCarrier::use(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
}

bool FlowCarrier::progress() {
  const bool has_moved = transport_->progress();
  for (std::size_t i = 0; i < ready_.size(); ++i)
    if (CarrierClient* const flow = flows_[static_cast<std::size_t>(ready_[i].value)])
      flow->advance();
  return has_moved;
}

std::vector<Rank> FlowCarrier::take_ready() {
  for (const Rank rank : ready_)
    is_ready_[static_cast<std::size_t>(rank.value)] = false;
  return std::exchange(ready_, {});
}

void FlowCarrier::add(CarrierClient& flow, Rank peer) {
  const auto index = static_cast<std::size_t>(peer.value);
  if (flows_.size() <= index) {
    flows_.resize(index + 1);
    is_ready_.resize(index + 1);
  }
  flows_[index] = &flow;
  ++flow_count_;
}

void FlowCarrier::forget(Rank peer) noexcept {
  try {
    if (transport_) transport_->forget(peer);
  } catch (const Error&) {
    transport_->abandon();
  }
  flows_[static_cast<std::size_t>(peer.value)] = nullptr;
  if (--flow_count_ > 0) return;
  has_ended_ = true;
  if (transport_) transport_->abandon();
}

void FlowCarrier::mark(Rank peer) {
  const auto index = static_cast<std::size_t>(peer.value);
  if (is_ready_[index]) return;
  is_ready_[index] = true;
  ready_.push_back(peer);
}

std::span<std::byte> FlowCarrier::take_block() {
  if (spare_.empty()) {
    chunks_.push_back(std::make_unique<std::byte[]>(kBlocksAChunk * kChunkBytes));
    const std::span memory(chunks_.back().get(), kBlocksAChunk * kChunkBytes);
    transport_->allocated(memory);
    for (std::size_t i = 0; i < kBlocksAChunk; ++i)
      spare_.push_back(memory.subspan(i * kChunkBytes, kChunkBytes));
  }
  const std::span<std::byte> block = spare_.back();
  spare_.pop_back();
  return block;
}

void FlowCarrier::sent(Outgoing& message) {
  auto& carried = static_cast<CarriedOutgoing&>(message);
  carried.client->sent(carried);
}

void FlowCarrier::received(Incoming& message) {
  auto& carried = static_cast<CarriedIncoming&>(message);
  carried.client->received(carried);
}

void FlowCarrier::lost(Rank peer, const Error& error) {
  const auto index = static_cast<std::size_t>(peer.value);
  if (index < flows_.size() && flows_[index] != nullptr) flows_[index]->lost(error);
}

}  // namespace fastgpu::comm
