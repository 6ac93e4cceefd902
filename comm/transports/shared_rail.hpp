// Messages between ranks of one host, through memory that they share. What a rank sends from its
// shared heap is read there by the receiver, which reduces as it reads; what lies elsewhere is
// passed through cells that stay in the cache.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "comm/common/nonce.hpp"
#include "comm/transports/mailbox.hpp"
#include "comm/transports/rail.hpp"
#include "comm/transports/shared_heap.hpp"
#include "comm/transports/tag_table.hpp"

namespace fastgpu::comm {

/// Ranks can be connected where each can open a descriptor of the other and finds a number there
/// that only the other can have written: the same host, and no wall between them.
class SharedRail final : public Rail {
 public:
  /// Wakes a peer that sleeps: makes a descriptor readable that it sleeps on.
  using Doorbell = std::function<void(Rank)>;

  /// For a rank among `size`. Throws ErrorKind::capacity.
  SharedRail(Rank self, int size);
  ~SharedRail() override;

  /// Before anything is sent. Both are borrowed.
  void open(RailEvents& events, Doorbell doorbell);

  RailCaps caps() const noexcept override;
  std::vector<std::byte> address() const override;
  bool connect(Rank peer, std::span<const std::byte> address) override;
  void disconnect(Rank peer) noexcept;  ///< Undoes `connect`, where the peer could not.
  bool is_connected(Rank peer) const noexcept;

  /// The process that this peer is; 0 where it is not connected.
  pid_t process_of(Rank peer) const noexcept;

  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool progress() override;
  bool may_sleep() override;
  void woke() override;
  int descriptor() const noexcept override { return -1; }
  void abandon() noexcept override;

  SharedHeap& heap() noexcept { return *heap_; }

  /// Whether letters of this peer are waiting; what it has sent outlives it.
  bool has_mail(Rank peer) const noexcept;

  /// A peer that has gone: messages to it are touched no more.
  void forget(Rank peer);

 private:
  struct Post;
  class Peer;

  void ring(Peer& peer);
  Peer& peer(Rank rank) const { return *peers_.at(static_cast<std::size_t>(rank.value)); }

  Rank self_;
  int size_;
  UniqueFd file_;
  Mapping mapping_;
  Post* post_;  ///< In the mapping.
  std::unique_ptr<SharedHeap> heap_;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< By rank; null where not connected.
  std::vector<Peer*> connected_;
  UnaskedBytes unasked_;
  RailEvents* events_ = nullptr;
  Doorbell doorbell_;
};

}  // namespace fastgpu::comm
