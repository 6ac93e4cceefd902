// The peers whose connections are read, those whose connections are full, and those that the next
// turn reads or writes to.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/transports/tcp_peer.hpp"
#include "comm/transports/tcp_poller.hpp"

namespace fastgpu::comm {

class TcpPolling {
 public:
  /// Borrows the poller.
  TcpPolling(TcpPoller& poller, std::size_t ranks) : poller_(poller), states_(ranks) {}

  /// Polls a connection for reading. Throws as TcpPoller::add.
  void add(TcpPeer& peer, std::size_t flow);
  /// Polls the full connections of a peer for room, and no others.
  void poll_for_room(TcpPeer& peer) noexcept;

  /// Reads a peer no more that is too far ahead: its connections fill up, and then it cannot send.
  void pause_if_full(TcpPeer& peer) noexcept;
  /// Reads a paused peer again once it may be. Returns true if so: what had been read ahead makes
  /// no socket readable.
  bool resume_if_room(TcpPeer& peer) noexcept;
  bool is_paused(Rank peer) const noexcept { return of(peer).is_paused; }
  bool has_paused() const noexcept { return paused_ > 0; }

  /// Makes the next turn write to a peer. A full connection needs no turn: its room is polled for.
  void write_next_turn(Rank peer);
  /// Makes the next turn read what was left of a peer.
  void read_next_turn(Rank peer);
  /// Returns whether the next turn must not wait for events.
  bool has_turn() const noexcept { return !waiting_.empty() || !left_.empty(); }
  bool has_left() const noexcept { return !left_.empty(); }
  /// Returns the peers to read now, once.
  std::vector<Rank> take_left() noexcept;
  /// Returns the peers to write to now, once.
  std::vector<Rank> take_waiting() noexcept;

  /// Forgets that a peer, which is lost, was paused.
  void forget(Rank peer) noexcept;

 private:
  struct State {
    bool is_paused = false;   ///< True while it is not read.
    bool is_waiting = false;  ///< True while the next turn is to write to it.
    bool is_left = false;     ///< True while the next turn is to read it.
  };

  State& of(Rank peer) noexcept { return states_[static_cast<std::size_t>(peer.value)]; }
  const State& of(Rank peer) const noexcept {
    return states_[static_cast<std::size_t>(peer.value)];
  }
  void poll(TcpPeer& peer, std::size_t flow) noexcept;
  void poll_all(TcpPeer& peer) noexcept;

  TcpPoller& poller_;
  std::vector<State> states_;  ///< By rank.
  std::vector<Rank> waiting_;
  std::vector<Rank> left_;
  int paused_ = 0;  ///< Peers.
};

/// Waits a moment for the connection that carries notices to take more.
void wait_for_room(const TcpPeer& peer);

}  // namespace fastgpu::comm
