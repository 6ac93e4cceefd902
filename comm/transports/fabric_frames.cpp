#include "comm/transports/fabric_frames.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMaxFramesIn = 128;
constexpr std::size_t kMinFramesIn = 16;
/// Frames of this rank that are under way.
constexpr std::size_t kMaxFramesOut = 256;
constexpr std::size_t kFramesAChunk = 32;

/// Returns whether such a frame may be sent without a completion. Providers do not report that a
/// copy has failed: questions and their answers show that a connection is broken.
constexpr bool may_be_copied(FabricFrameKind kind) noexcept {
  return kind != FabricFrameKind::farewell && kind != FabricFrameKind::hello &&
         kind != FabricFrameKind::question && kind != FabricFrameKind::credit;
}

}  // namespace

FabricFrames::FabricFrames(Rank self, fabric::FabricEndpoint& endpoint)
    : self_(self),
      endpoint_(endpoint),
      blocks_(endpoint, kFabricFrameBytes, kFramesAChunk, endpoint.traits().needs_local),
      scratch_(kFabricFrameBytes) {
  const std::size_t frames = std::clamp(endpoint.traits().receives / 2, kMinFramesIn, kMaxFramesIn);
  for (std::size_t i = 0; i < frames; ++i) {
    in_.emplace_back();
    in_.back().block = blocks_.take();
    unposted_.push_back(&in_.back());
  }
  if (endpoint.traits().needs_local) blocks_.reserve();
}

/// Returns memory for a frame that is sent; empty where it must wait for that of another.
fabric::FabricPart FabricFrames::take_block() {
  if (under_way_.size() >= kMaxFramesOut) return {};
  try {
    return blocks_.take();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity || under_way_.empty()) throw;
    return {};
  }
}

FabricFrame FabricFrames::frame_to(const FabricPeer& peer, FabricFrameKind kind) const {
  return {.kind = kind, .rank = static_cast<std::uint32_t>(self_.value), .token = peer.token};
}

void FabricFrames::queue(FabricPeer& peer, const FabricFrame& frame) {
  FabricControl& made = peer.controls.emplace_back();
  made.size = encode(frame, made.bytes);
  made.is_short = may_be_copied(frame.kind);
  made.is_counted = is_counted(frame.kind);
}

bool FabricFrames::post_queued(FabricPeer& peer) {
  for (; !peer.controls.empty(); peer.controls.pop_front()) {
    if (!post_encoded(peer, peer.controls.front())) return false;
    if (peer.controls.front().is_counted) ++peer.items_sent;
  }
  return true;
}

bool FabricFrames::post(FabricPeer& peer, const FabricFrame& frame, std::size_t size) {
  if (size <= endpoint_.traits().inject_bytes) {
    encode(frame, scratch_);
    return inject(peer, std::span(scratch_).first(size));
  }
  const fabric::FabricPart block = take_block();
  if (block.bytes.empty()) return false;
  encode(frame, block.bytes);
  return post_block(peer, block, size);
}

bool FabricFrames::post_encoded(FabricPeer& peer, const FabricControl& frame) {
  const auto encoded = std::span(frame.bytes).first(frame.size);
  if (frame.is_short && encoded.size() <= endpoint_.traits().inject_bytes)
    return inject(peer, encoded);
  const fabric::FabricPart block = take_block();
  if (block.bytes.empty()) return false;
  std::ranges::copy(encoded, block.bytes.begin());
  return post_block(peer, block, encoded.size());
}

/// Sends an encoded frame as a copy, which has no completion.
bool FabricFrames::inject(FabricPeer& peer, std::span<const std::byte> encoded) {
  peer.has_injected = true;
  return endpoint_.inject(peer.number, encoded);
}

bool FabricFrames::post_block(FabricPeer& peer, const fabric::FabricPart& block,
                              std::size_t bytes) {
  FrameOperation& frame = under_way_.emplace_front();
  frame.role = FabricRole::frame_out;
  frame.peer = &peer;
  frame.block = block;
  frame.self = under_way_.begin();
  const fabric::FabricPart part{block.bytes.first(bytes), block.registration};
  if (endpoint_.send(peer.number, part, frame)) return true;
  blocks_.give(block);
  under_way_.pop_front();
  return false;
}

void FabricFrames::post_receives() {
  while (!unposted_.empty()) {
    FrameOperation& frame = *unposted_.back();
    if (!endpoint_.receive(frame.block, frame)) return;
    unposted_.pop_back();
  }
}

std::span<const std::byte> FabricFrames::content_of(const FabricOperation& in,
                                                    std::size_t bytes) const {
  const auto& frame = static_cast<const FrameOperation&>(in);
  return frame.block.bytes.first(std::min(bytes, kFabricFrameBytes));
}

void FabricFrames::taken(FabricOperation& in) {
  unposted_.push_back(static_cast<FrameOperation*>(&in));
}

void FabricFrames::left(FabricOperation& out) {
  auto& frame = static_cast<FrameOperation&>(out);
  blocks_.give(frame.block);
  under_way_.erase(frame.self);
}

void FabricFrames::clear() noexcept {
  under_way_.clear();
  in_.clear();
  unposted_.clear();
  blocks_.clear();
}

}  // namespace fastgpu::comm
