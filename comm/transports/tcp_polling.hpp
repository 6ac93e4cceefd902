// The peers whose connections are read, those whose connections are full, and those that the next
// turn reads or writes to.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/transports/tcp_peer.hpp"
#include "comm/transports/tcp_poller.hpp"

namespace fastgpu::comm {

/// The ranks that the next turn deals with, each once.
class RanksOfTurn {
 public:
  explicit RanksOfTurn(std::size_t ranks) : are_in_(ranks) {}

  void add(Rank rank);
  bool is_empty() const noexcept { return ranks_.empty(); }
  /// Returns them, and holds none from then on.
  std::vector<Rank> take() noexcept;

 private:
  std::vector<bool> are_in_;  ///< By rank.
  std::vector<Rank> ranks_;
};

class TcpPolling {
 public:
  /// Borrows the poller.
  TcpPolling(TcpPoller& poller, std::size_t ranks)
      : poller_(poller), are_paused_(ranks), writes_(ranks), reads_(ranks) {}

  /// Polls a connection for reading. Throws as TcpPoller::add.
  void add(TcpPeer& peer, std::size_t flow);
  /// Polls the full connections of a peer for room, and no others.
  void poll_for_room(TcpPeer& peer) noexcept;

  /// Reads a peer no more that is too far ahead: its connections fill up, and then it cannot send.
  void pause_if_full(TcpPeer& peer) noexcept;
  /// Reads a paused peer again once it may be. Returns true if so: what had been read ahead makes
  /// no socket readable.
  bool resume_if_room(TcpPeer& peer) noexcept;
  bool is_paused(Rank peer) const noexcept { return are_paused_[index_of(peer)]; }
  bool has_paused() const noexcept { return paused_ > 0; }

  /// Makes the next turn write to a peer. A full connection needs no turn: its room is polled for.
  void write_next_turn(Rank peer) { writes_.add(peer); }
  /// Makes the next turn read what was left of a peer.
  void read_next_turn(Rank peer) { reads_.add(peer); }
  /// Returns whether the next turn must not wait for events.
  bool has_turn() const noexcept { return !writes_.is_empty() || has_left(); }
  bool has_left() const noexcept { return !reads_.is_empty(); }
  /// Returns the peers to read now, once.
  std::vector<Rank> take_left() noexcept { return reads_.take(); }
  /// Returns the peers to write to now, once.
  std::vector<Rank> take_waiting() noexcept { return writes_.take(); }

  /// Forgets that a peer, which is lost, was paused.
  void forget(Rank peer) noexcept;

 private:
  static std::size_t index_of(Rank peer) noexcept { return static_cast<std::size_t>(peer.value); }
  void poll(TcpPeer& peer, std::size_t flow) noexcept;
  void poll_all(TcpPeer& peer) noexcept;

  TcpPoller& poller_;
  std::vector<bool> are_paused_;  ///< By rank: true while it is not read.
  RanksOfTurn writes_;
  RanksOfTurn reads_;
  int paused_ = 0;  ///< Peers.
};

/// Waits a moment for the connection that carries notices to take more.
void wait_for_room(const TcpPeer& peer);

}  // namespace fastgpu::comm
