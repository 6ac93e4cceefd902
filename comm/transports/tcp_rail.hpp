// Messages over connected stream sockets: several TCP connections to each rank on another host.
// It also carries what ranks must hear from each other whatever rail their data takes: that one
// rings, gives up, or is gone.
#pragma once

#include <chrono>
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

  /// Says one of those that have nothing to add; a bell wakes `peer` if it sleeps.
  void say(Rank peer, FrameKind kind);

  /// Tells every rank that is still there why this one gives up, and waits until they can hear it,
  /// but no longer than `limit`.
  void say_farewell(std::span<const std::byte> words, std::chrono::milliseconds limit) noexcept;

  /// Connections to send over, to each peer that has as many. May change between messages.
  void use_flows(int flows);

 private:
  TcpPeer* peer(Rank rank) const;  ///< Null for those lost too.
  void write(TcpPeer& peer);
  void poll_for_writing(TcpPeer& peer);
  bool read(std::uint64_t where);
  static void read_the_rest(TcpPeer& from, std::size_t ended) noexcept;
  void lose(Rank peer, const Error& error) noexcept;

  RailEvents& events_;
  UniqueFd epoll_;
  std::vector<std::unique_ptr<TcpPeer>> peers_;  ///< By rank; null for this one.
  int most_flows_ = 1;
};

}  // namespace fastgpu::comm
