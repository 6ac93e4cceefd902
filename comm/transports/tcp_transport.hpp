// Messages over connected stream sockets: several TCP connections to each rank on another host.
// They also carry the notices between all ranks, whatever transport carries their data.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "comm/transports/carried_network.hpp"
#include "comm/transports/reconnector.hpp"
#include "comm/transports/tcp_links.hpp"
#include "comm/transports/tcp_peer.hpp"
#include "comm/transports/tcp_poller.hpp"
#include "comm/transports/tcp_polling.hpp"
#include "comm/transports/tcp_replacements.hpp"

namespace fastgpu::comm {

class TcpTransport final : public Transport, public ControlChannel, private CarrierHub {
 public:
  /// `sockets[r]` are connected to rank r, at least one, and `sockets[self]` is empty. Borrows the
  /// listeners. All ranks choose the same confirmation.
  TcpTransport(std::vector<std::vector<UniqueFd>> sockets, TransportEvents& events,
               ControlEvents& control_events, Confirmation confirmation = Confirmation::none);

  /// Closes the connections once what was sent has arrived, or does not arrive soon: closing
  /// earlier would take it back where the other side has sent something that this one has not read.
  ~TcpTransport() override;

  TransportCapabilities capabilities() const noexcept override;
  bool reaches(Rank peer) const noexcept override;
  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool send_now(Outgoing& message) override;
  bool receive_now(Incoming& message) override;
  bool progress() override;
  bool may_sleep() override;
  void woke() noexcept override { poller_.woke(); }
  bool needs_progress() const noexcept override;
  int poll_descriptor() const noexcept override { return poller_.descriptor(); }
  bool is_quiet() const noexcept override;
  void abandon() noexcept override;
  std::vector<int> descriptors() const override;
  void use_flows(int flows) override;
  std::vector<LinkCounters> links() const override;

  /// Lets connections that are given up be replaced. Frames are confirmed.
  void use(std::unique_ptr<Reconnector> reconnector);

  /// Lets another network carry messages together with the connections, to the ranks that it
  /// reaches; `source` opens others in place of one that has failed. Called before anything is
  /// sent, and for the network of that number by these ranks too; frames are confirmed.
  void carry_by(std::uint64_t number, std::unique_ptr<FlowCarrier> carrier,
                std::unique_ptr<TransportSource> source = nullptr, RetryTimes times = {});

  /// Lets connections carry messages only where no network beside them does.
  void spare_connections() noexcept;

  void allocated(std::span<std::byte> memory) override;
  void freed(const std::byte* memory) noexcept override;

  /// Returns the number of connections that were given up since the beginning.
  int retired_flows() const noexcept;

  void wake(Rank peer) override { send_control(peer, TcpFrameKind::bell, {}); }
  void ask(Rank peer, std::span<const std::byte> question) override {
    send_control(peer, TcpFrameKind::question, question);
  }
  void answer(Rank peer, std::span<const std::byte> answer) override {
    send_control(peer, TcpFrameKind::answer, answer);
  }
  void send_abort(std::span<const std::byte> reason,
                  std::chrono::milliseconds limit) noexcept override;
  bool is_unacknowledged(Rank peer) const noexcept override;

  /// Watches the process of this host that is `peer`, by its pidfd: once it has ended the peer is
  /// lost, even if another process holds its connections open.
  void watch_process(Rank peer, UniqueFd process);

 private:
  // CarrierHub.
  Rank self() const noexcept override { return self_; }
  int size() const noexcept override { return static_cast<int>(peers_.size()); }
  TcpPeer* peer(Rank rank) const override;
  TcpLinks& link_counters() noexcept override { return links_; }
  TransportEvents& reports() noexcept override { return events_; }
  void write(TcpPeer& peer) override;
  bool read(Rank rank, std::size_t flow) override { return read(rank, flow, UnaskedChunks::kept); }
  bool read(Rank rank, std::size_t flow, UnaskedChunks unasked);
  void watch(int descriptor) override;
  void unwatch(int descriptor) noexcept override;

  void send_control(Rank peer, TcpFrameKind kind, std::span<const std::byte> bytes);
  void resume_if_room(TcpPeer& peer);
  UniqueFd& process_of(Rank rank) { return processes_[static_cast<std::size_t>(rank.value)]; }
  void process_ended(Rank rank);
  bool write_waiting();
  bool read_left(UnaskedChunks unasked);
  bool read_ready(UnaskedChunks unasked);
  bool move(const Readiness& ready, UnaskedChunks unasked);
  void take_cards(TcpPeer& from);
  void look_at_connections();
  void replace_failed(std::chrono::steady_clock::time_point now);
  void read_the_rest(TcpPeer& from, std::size_t ended) noexcept;
  void refuse(Rank peer, const Error& error) noexcept;
  void lose(Rank peer, const Error& error) noexcept;

  TransportEvents& events_;
  Confirmation confirmation_;
  TcpPoller poller_;
  TcpPolling polling_;
  UnaskedBytes unasked_;
  Rank self_{};
  std::vector<std::unique_ptr<CarriedNetwork>>
      networks_{};                               ///< The networks beside the connections.
  std::vector<std::unique_ptr<TcpPeer>> peers_;  ///< The peers, by rank; null for this rank.
  /// The processes of this host that are peers, by rank; absent for those of other hosts.
  std::vector<UniqueFd> processes_;
  int turns_in_vain_ = 0;  ///< The last ones, in which nothing moved.
  int most_flows_ = 1;
  TcpLinks links_;
  TcpReplacements replacements_;
  /// The time from which the health of connections is looked at again.
  std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace fastgpu::comm
