// The frames of a fabric transport on their way through its endpoint.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <span>
#include <vector>

#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_memory.hpp"
#include "comm/transports/fabric_peer.hpp"

namespace fastgpu::comm {

/// Returns whether the receiver reports that it has taken such a frame.
constexpr bool is_counted(FabricFrameKind kind) noexcept {
  return kind != FabricFrameKind::credit && kind != FabricFrameKind::question &&
         kind != FabricFrameKind::offer && kind != FabricFrameKind::hello;
}

/// The frames that are received, and those that are sent.
class FabricFrames {
 public:
  /// Borrows the endpoint. Throws as Endpoint::register_memory() does.
  FabricFrames(Rank self, fabric::FabricEndpoint& endpoint);

  /// Returns a frame of that kind, without its content.
  FabricFrame frame_to(const FabricPeer& peer, FabricFrameKind kind) const;

  /// Appends a frame without a message's bytes to those that wait for the peer.
  void queue(FabricPeer& peer, const FabricFrame& frame);

  /// Sends the frames that wait; returns false where the endpoint's queue is full.
  bool post_queued(FabricPeer& peer);

  /// Sends a frame of `size` bytes; returns false where the endpoint's queue is full.
  bool post(FabricPeer& peer, const FabricFrame& frame, std::size_t size);

  /// Posts the receives that are not posted, as far as there is room.
  void post_receives();

  /// Returns the bytes of a frame that has come. They are valid until `taken`.
  std::span<const std::byte> content_of(const FabricOperation& in, std::size_t bytes) const;

  /// Lets the memory of a frame that has come be used for another.
  void taken(FabricOperation& in);

  /// Frees the memory of a frame that has left, or has failed to.
  void left(FabricOperation& out);

  bool has_unposted() const noexcept { return !unposted_.empty(); }
  bool are_leaving() const noexcept { return !under_way_.empty(); }

  /// Forgets all frames, once the endpoint has stopped.
  void clear() noexcept;

 private:
  struct FrameOperation : FabricOperation {
    fabric::FabricPart block{};
    std::list<FrameOperation>::iterator self{};
  };

  fabric::FabricPart take_block();
  bool inject(FabricPeer& peer, std::span<const std::byte> encoded);
  bool post_encoded(FabricPeer& peer, const FabricControl& frame);
  bool post_block(FabricPeer& peer, const fabric::FabricPart& block, std::size_t bytes);

  Rank self_;
  fabric::FabricEndpoint& endpoint_;
  FabricBlocks blocks_;
  std::deque<FrameOperation> in_;
  std::vector<FrameOperation*> unposted_;  ///< Members of `in_`.
  std::list<FrameOperation> under_way_;    ///< Frames that are sent.
  std::vector<std::byte> scratch_;         ///< Memory for frames that are sent as copies.
};

}  // namespace fastgpu::comm
