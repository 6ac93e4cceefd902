// Messages between ranks of one host, through memory that they share. What a rank sends from its
// shared heap is read there by the receiver, which reduces as it reads; other memory is
// passed through cells that stay in the cache.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>
#include <vector>

#include "comm/common/nonce.hpp"
#include "comm/transports/control_channel.hpp"
#include "comm/transports/mailbox.hpp"
#include "comm/transports/shared_heap.hpp"
#include "comm/transports/staged_messages.hpp"
#include "comm/transports/tag_table.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Ranks can be connected where each can open a descriptor of the other and finds a number there
/// that only the other can have written: the same host, and no wall between them.
class SharedMemoryTransport final : public Transport {
 public:
  /// Creates the transport of a rank among `size`. Throws ErrorKind::capacity.
  SharedMemoryTransport(Rank self, int size);
  ~SharedMemoryTransport() override;

  /// Begins, before anything is sent. Borrows both; `control` wakes peers that sleep.
  void open(TransportEvents& events, ControlChannel& control);

  /// Returns what another rank must know in order to connect; opaque, at most 255 bytes.
  std::vector<std::byte> address() const;

  /// Connects to a peer whose transport has this address, and returns whether that was possible.
  /// Used only where both sides could.
  bool connect(Rank peer, std::span<const std::byte> address);
  void disconnect(Rank peer) noexcept;  ///< Undoes `connect`, where the peer could not.

  /// Returns the process of a peer; 0 where it is not connected.
  pid_t process_of(Rank peer) const noexcept;

  TransportCapabilities capabilities() const noexcept override {
    return {.most_now = kEagerCopied, .is_free_to_poll = true};
  }
  bool reaches(Rank peer) const noexcept override;
  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool send_now(Outgoing& message) override;
  bool receive_now(Incoming& message) override;
  bool progress() override;
  bool tend() override;
  bool may_sleep() override;
  void woke() override;

  /// Returns true: a descriptor that a peer has put is there at once, and counted when it is read.
  bool is_quiet() const noexcept override { return true; }
  bool has_arrived(Rank lost) const noexcept override;
  void forget(Rank lost) override;
  void abandon() noexcept override;
  Heap* heap() noexcept override { return heap_.get(); }
  std::vector<LinkCounters> links() const override { return {link_}; }

 private:
  struct Post;
  class Peer;

  bool progress(Peer& peer);
  void ring(Peer& peer);
  Peer& peer(Rank rank) const { return *peers_.at(static_cast<std::size_t>(rank.value)); }

  Rank self_;
  int size_;
  UniqueFd file_;
  Mapping mapping_;
  Post* post_;  ///< The beginning of the mapping.
  std::unique_ptr<SharedHeap> heap_;
  std::optional<StagedMessages> staged_;      ///< Absent until `open`.
  std::vector<std::unique_ptr<Peer>> peers_;  ///< The peers, by rank; null where not connected.
  std::vector<Peer*> connected_;
  UnaskedBytes unasked_;
  LinkCounters link_{.name = "shared memory", .is_within_node = true};
  TransportEvents* events_ = nullptr;
  ControlChannel* control_ = nullptr;
};

}  // namespace fastgpu::comm
