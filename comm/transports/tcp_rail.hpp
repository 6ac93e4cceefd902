// Messages over connected stream sockets: several TCP connections to each rank on another host.
// It also carries what ranks must hear from each other whatever rail their data takes: that one
// rings, gives up, or is gone.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "comm/transports/tcp_peer.hpp"

namespace fastgpu::comm {

class TcpRail final : public Rail {
 public:
  /// `sockets[r]` are connected to rank r, at least one, and `sockets[self]` is empty. Borrows the
  /// listeners.
  TcpRail(std::vector<std::vector<UniqueFd>> sockets, RailEvents& events, Talk& talk);

  /// Closes the connections once what was sent has arrived, or does not arrive soon: closing
  /// earlier would take it back where the other side has said something that nobody has read.
  ~TcpRail() override;

  RailCaps caps() const noexcept override;
  std::vector<std::byte> address() const override { return {}; }
  bool connect(Rank peer, std::span<const std::byte> address) override;

  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool progress() override;
  bool may_sleep() override { return true; }
  void woke() override {}
  int descriptor() const noexcept override { return epoll_.get(); }
  void abandon() noexcept override;

  /// Says one of the frames that are about no message; a bell wakes `peer` if it sleeps.
  void say(Rank peer, FrameKind kind, std::span<const std::byte> words = {});

  /// A process of this host, by its pidfd, that is `peer`: once it has ended the peer is lost, even
  /// if another process holds its connections open.
  void watch_process(Rank peer, UniqueFd process);

  /// Whether something has been sent to `peer` again because its host has not acknowledged it. A
  /// host that is up acknowledges, whatever its processes do.
  bool is_unacknowledged(Rank peer) const noexcept;

  /// Whether nothing that was sent is on its way, or waits for room, and nothing is left unread.
  bool is_quiet() const noexcept;

  /// All that a child made by fork must not keep open; `before_close` is called for each of them
  /// that is closed while the rail lives.
  std::vector<int> descriptors(std::function<void(int)> before_close);

  /// Tells every rank that is still there why this one gives up, and waits until they can hear it,
  /// but no longer than `limit`.
  void say_farewell(std::span<const std::byte> words, std::chrono::milliseconds limit) noexcept;

  /// Connections to send over, to each peer that has as many. May change between messages.
  void use_flows(int flows);

 private:
  /// How one peer is polled.
  struct Watch {
    UniqueFd process{};      ///< Absent for a peer of another host.
    bool is_paused = false;  ///< Nothing is read from it now.
  };

  TcpPeer* peer(Rank rank) const;  ///< Null for those lost too.
  Watch& watch_of(Rank rank) { return watches_[static_cast<std::size_t>(rank.value)]; }
  void poll_for(TcpPeer& peer, std::size_t flow) noexcept;
  void pause_if_full(TcpPeer& peer);
  void resume_if_room(TcpPeer& peer);
  void process_ended(Rank rank);
  void write(TcpPeer& peer);
  void poll_for_writing(TcpPeer& peer);
  bool read(std::uint64_t where);
  /// `ended` is a flow, or kNoFlow.
  static void read_the_rest(TcpPeer& from, std::size_t ended) noexcept;
  void lose(Rank peer, const Error& error) noexcept;

  RailEvents& events_;
  UniqueFd epoll_;
  UnaskedBytes unasked_;
  std::vector<std::unique_ptr<TcpPeer>> peers_;  ///< By rank; null for this one.
  std::vector<Watch> watches_;                   ///< By rank.
  int paused_ = 0;                               ///< Peers.
  std::function<void(int)> before_close_{};
  int most_flows_ = 1;
};

}  // namespace fastgpu::comm
