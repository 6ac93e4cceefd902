// A network beside TCP that carries frames to some ranks. If it fails on the way to a rank, the two
// ranks try it again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "comm/common/retry_schedule.hpp"
#include "comm/transports/flow_carrier.hpp"
#include "comm/transports/meeting_transport.hpp"
#include "comm/transports/tcp_links.hpp"
#include "comm/transports/tcp_peer.hpp"

namespace fastgpu::comm {

/// A TCP transport as the networks beside it know it.
class CarrierHub {
 public:
  virtual ~CarrierHub() = default;

  virtual Rank self() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual TcpPeer* peer(Rank rank) const = 0;  ///< Null for this rank, and for those lost.
  virtual TcpLinks& link_counters() noexcept = 0;
  virtual TransportEvents& reports() noexcept = 0;

  virtual void write(TcpPeer& peer) = 0;
  /// Reads from a flow; returns whether anything has moved.
  virtual bool read(Rank rank, std::size_t flow) = 0;

  virtual void watch(int descriptor) = 0;
  virtual void unwatch(int descriptor) noexcept = 0;
};

/// An attempt has a number. The lower of two ranks proposes it with the card of a transport that
/// the peer has not used; the peer answers with its own card, and they meet.
class CarriedNetwork {
 public:
  using Clock = std::chrono::steady_clock;

  /// Adds a flow to each rank that `carrier` reaches. `number` is that of the network, the same on
  /// all ranks. Without a source a flow that was given up stays so. Borrows the hub.
  CarriedNetwork(CarrierHub& hub, std::uint64_t number, std::unique_ptr<FlowCarrier> carrier,
                 std::unique_ptr<TransportSource> source, RetryTimes times);

  std::uint64_t number() const noexcept { return number_; }
  const LinkCounters& link() const noexcept { return link_; }

  /// Moves what can be moved without waiting; returns false where that was nothing.
  bool progress();
  bool needs_progress() const noexcept;
  /// Returns false while only a look at the network shows what has come.
  bool may_sleep();
  bool is_quiet() const noexcept;
  std::vector<int> descriptors() const;

  /// Tries again what has failed. Called now and then.
  void look(Clock::time_point now);
  /// Notes that the flow to `peer` was given up while the peer went on.
  void failed(Rank peer, Clock::time_point now);
  /// Takes a card that `peer` has sent. Throws ErrorKind::remote for an invalid one.
  void take(Rank peer, const CarrierCard& card, Clock::time_point now);

  /// Reads what a rank has sent last: the frames come later than the end of its connections.
  void read_last(TcpPeer& from) noexcept;
  /// Ends all attempts with a rank that is lost.
  void forget(Rank lost) noexcept;

  void allocated(std::span<std::byte> memory);
  void freed(const std::byte* memory) noexcept;
  void abandon() noexcept;
  /// Ends the transports, which wait until what was sent has left, but not for long. Then notifies
  /// the peers by their connections of what has come.
  void end() noexcept;

 private:
  /// A transport, and the ranks that have used it.
  struct Member {
    std::unique_ptr<FlowCarrier> carrier{};
    MeetingTransport* meeting = nullptr;  ///< Null if it meets no further ranks.
    std::set<Rank> used_with{};
    int watched = -1;  ///< The descriptor that the hub watches.
  };

  enum class Stage : std::uint8_t { rests, awaits_transport, awaits_answer, meets };

  /// The flow to one rank, or the attempt to have one again.
  struct Way {
    explicit Way(RetryTimes times) : schedule(times) {}

    std::size_t flow = 0;  ///< The newest one.
    bool has_failed = false;
    RetrySchedule schedule;
    Stage stage = Stage::rests;
    std::uint64_t attempt = 0;
    Member* member = nullptr;  ///< The transport of the attempt.
    std::vector<std::byte> card{};
    Clock::time_point meets_until{};
  };

  Member& add(std::unique_ptr<FlowCarrier> carrier, MeetingTransport* meeting);
  void use(Member& member, TcpPeer& peer, Way& way);
  bool progress(Member& member);
  void unwatch(Member& member) noexcept;
  void leave(Rank rank, const Way& way) noexcept;
  void remove_unused() noexcept;

  bool proposes(Rank peer) const noexcept { return hub_.self() < peer; }
  bool is_trying() const noexcept;
  bool may_use_again(Rank peer, const Way& way) const;
  void begin(Rank peer, Way& way, Clock::time_point now);
  void take_opened(Clock::time_point now);
  std::unique_ptr<FlowCarrier> carrier_of(std::unique_ptr<MeetingTransport> transport);
  void go_on(Rank peer, Way& way, Member& member, Clock::time_point now);
  bool meet(Rank peer, Way& way, Clock::time_point now);
  void send_card(Rank peer, const Way& way, CardKind kind, std::vector<std::byte> bytes);
  void take_proposal(Rank peer, Way& way, const CarrierCard& card, Clock::time_point now);
  void take_answer(Rank peer, Way& way, const CarrierCard& card, Clock::time_point now);
  void look_at_meeting(Rank peer, Way& way, Clock::time_point now);
  void end_attempt(Rank peer, Way& way) noexcept;
  void give_up_attempt(Rank peer, Way& way, Clock::time_point now);

  CarrierHub& hub_;
  std::uint64_t number_;
  LinkCounters& link_;
  std::unique_ptr<TransportSource> source_;
  RetryTimes times_;
  bool is_opening_ = false;
  bool is_over_ = false;  ///< True once the job is given up.
  std::list<Member> members_;
  std::map<Rank, Way> ways_;                  ///< The ranks that the network has reached.
  std::vector<std::span<std::byte>> memory_;  ///< The memory that transports have prepared.
};

}  // namespace fastgpu::comm
