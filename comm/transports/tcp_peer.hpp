// One rank behind the network as seen by another: what is to be sent over which connection, or by
// which other network, and what has come.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/transports/control_channel.hpp"
#include "comm/transports/flow.hpp"
#include "comm/transports/flow_pace.hpp"
#include "comm/transports/frame_log.hpp"
#include "comm/transports/long_messages.hpp"
#include "comm/transports/tcp_arrivals.hpp"
#include "comm/transports/tcp_notices.hpp"
#include "comm/transports/tcp_receives.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The bytes of messages that are given to the connections to a peer before its own are read.
constexpr std::size_t kMostATurn = 256 << 10;

/// Bytes of the longest message that is sent or received within a call.
constexpr std::size_t kMostNow = 4096;

/// Whether a peer confirms the frames that have come. If it does, a connection that fails is given
/// up, its frames go by the others, and a message is sent once all of it has come.
enum class Confirmation : std::uint8_t { none, of_frames };

/// The treatment of long chunks that no receive has asked for yet: they are read and kept, or they
/// are left in their connection, from which a later receive takes them without a further copy.
enum class UnaskedChunks : std::uint8_t { kept, left };

/// The connections to a peer, and perhaps a flow by another network.
using Flows = std::vector<std::unique_ptr<Flow>>;

/// Everything of TcpTransport that concerns one peer. A message is cut in chunks: each connection
/// takes the next one as soon as it can.
class TcpPeer final : public FrameEvents {
 public:
  /// A connection that was given up.
  struct RetiredFlow {
    UniqueFd socket;  ///< Absent for a flow by another network.
    LinkCounters* link = nullptr;
    std::string reason;
  };

  /// Borrows all but the connections.
  TcpPeer(Rank rank, Flows flows, TransportEvents& events, ControlEvents& control_events,
          UnaskedBytes& unasked, Confirmation confirmation);

  Rank rank() const noexcept { return rank_; }
  Flows& flows() noexcept { return flows_; }
  const Flows& flows() const noexcept { return flows_; }

  void send(Outgoing& message);
  void receive(Incoming& message);

  /// Begins to send a copy of a short message by an idle connection. Returns false if none is idle,
  /// or if other messages have to go first.
  bool send_now(const Outgoing& message);
  /// Receives a message that has arrived before. Returns false if a part of it has not arrived.
  bool take_now(Incoming& message) { return receives_.take_now(message); }
  /// Receives this short message if it comes while frames are read, until `has_come_now`.
  void expect_now(Incoming& message) noexcept { receives_.expect_now(message); }
  /// Returns whether it has come, and expects it no longer.
  bool has_come_now() noexcept;
  /// Returns the connection to read for it. Each time that it has not come this is the next one.
  std::size_t likely_flow() const noexcept { return likely_flow_; }

  /// Sends a frame that is about no message. It replaces one of its kind that has not left yet.
  void send_control(TcpFrameKind kind, std::span<const std::byte> bytes = {}) {
    notices_.add_latest(kind, bytes);
  }
  void send_abort(std::span<const std::byte> reason) { notices_.add_abort(reason); }
  void send_card(const CarrierCard& card) { notices_.add_card(card); }
  /// Returns the cards that have come, once.
  std::vector<CarrierCard> take_cards() noexcept { return std::exchange(cards_, {}); }

  /// Lets connections carry chunks only where no other network does.
  void spare_connections() noexcept { are_spared_ = true; }

  /// Connections used for sending, 1 to as many as there are.
  void use_flows(std::size_t flows) noexcept { used_ = flows; }

  /// Reads what there is from a connection; as TcpFlow::read.
  bool read(std::size_t flow, UnaskedChunks unasked = UnaskedChunks::kept);

  /// Returns true for the first looks after this rank has got what it awaited: it is likely to ask
  /// for what follows, which stays in the connections until then. Counts the looks.
  bool skip_look() noexcept;

  /// One connection, or the peer, has ended: reads what the other flows hold, until their end.
  /// `ended` is the number of a flow, or of none.
  void read_the_rest(std::size_t ended) noexcept;

  // ---- where the peer confirms frames ----
  bool has_unconfirmed() const noexcept { return has_unconfirmed_by(&FrameLog::has_unconfirmed); }
  bool has_unconfirmed(std::size_t flow) const noexcept {
    return !logs_.empty() && logs_[flow].has_unconfirmed();
  }
  /// Returns whether the peer has another connection.
  bool can_spare(std::size_t flow) const noexcept;
  /// Returns whether the peer, if it is there, can be reached without this flow: then a flow by
  /// another network does, too.
  bool can_spare_last(std::size_t flow) const noexcept;
  /// Returns whether a connection is left that both sides know.
  bool has_connection() const noexcept;
  /// Returns whether the flow by another network is one that both sides know, and is open.
  bool is_carried(std::size_t flow) const noexcept;
  /// Begins a frame by this flow, which the peer confirms, unless others are on their way.
  void ring(std::size_t flow);
  /// Gives a connection up, for a reason that a warning may state, and notifies the peer.
  void retire(std::size_t flow, const std::string& reason);
  /// Returns the connections that were given up, once.
  std::vector<RetiredFlow> take_retired() noexcept { return std::exchange(retired_, {}); }
  int retired() const noexcept { return retired_flows_; }
  /// Adds a connection, whose number it sends to the peer. It carries messages once the peer has
  /// sent its own number. From the first call on the peer confirms frames, and so does this rank.
  void add(std::unique_ptr<Flow> flow);

  /// Writes what the connections take now, but at most kMostATurn bytes of messages a turn: what is
  /// read soon after it was written is still in the caches. Throws if a connection has ended.
  bool write();
  /// Begins a turn.
  void next_turn() noexcept { written_in_turn_ = 0; }
  /// Returns whether bytes of messages have to wait for the next turn though a connection has room.
  bool is_held_back() const noexcept;
  bool is_flushed() const noexcept;
  /// Returns true if nothing that a message needs waits here or is on its way.
  bool is_quiet() const noexcept;
  /// Whether this rank awaits messages from the peer.
  bool has_expected() const noexcept { return receives_.has_expected(); }

  /// Whether something must come from the peer before this rank can go on.
  bool is_awaited() const noexcept {
    return receives_.is_awaited() || long_.has_waiting() || !sending_.empty() || !is_flushed();
  }

  void abandon();

  /// Ends the connections. What has come may still be asked for.
  void close() noexcept;
  bool is_open() const noexcept { return !flows_.empty(); }

  /// True if it has said that it leaves the job: the end of its connections is no fault.
  bool has_left() const noexcept { return has_left_; }

  /// False where the peer is ahead of this rank, and has to wait.
  bool may_read() const noexcept override {
    return !unasked_.is_full() || is_ending_ || is_awaited();
  }
  /// The connection has ended, and what is left in it is read.
  void read_to_the_end() noexcept { is_ending_ = true; }

  bool has_enough() const noexcept override {
    return reading_.was_awaited && !is_awaited() && logs_.empty() && !is_ending_;
  }
  bool may_stay(const Frame& frame) override;
  std::span<std::byte> target_of(const Frame& frame) override;
  void arrived(const Frame& frame, std::span<const std::byte> bytes) override;

 private:
  struct Sending {
    Outgoing* message = nullptr;
    std::size_t cut = 0;  ///< Bytes that have been given to connections.
  };

  /// Returns true if a log that matters says so: the last frames of a new connection that was given
  /// up are dropped.
  bool has_unconfirmed_by(bool (FrameLog::*has)() const noexcept) const noexcept;
  std::size_t longest_chunk(std::size_t flow) const noexcept;
  bool has_had_its_turn() const noexcept { return written_in_turn_ >= kMostATurn; }
  void queue(Outgoing& message);
  bool may_use(std::size_t flow) const noexcept;
  bool may_carry(std::size_t flow) const noexcept;
  bool may_carry_notices(std::size_t flow) const noexcept;
  void number_flows();
  bool write(std::size_t flow);
  bool give_work(std::size_t flow);
  bool give_confirmation(std::size_t flow);
  bool give_notice(std::size_t flow);
  bool give_again(std::size_t flow);
  bool give_chunk(std::size_t flow);
  bool is_quick_enough(std::size_t flow, std::size_t chunk) const noexcept;
  std::size_t waiting_bytes() const noexcept;
  void begin(std::size_t flow, SentFrame frame);
  static std::size_t paced_bytes(const SentFrame& frame) noexcept;
  void written(Flow& flow);
  void count_sent(Outgoing& message, std::size_t bytes);
  void confirm(const Frame& taken);
  void peer_retired(const Frame& retired);
  void send_confirmations();
  bool can_announce(std::size_t flow) const noexcept;
  bool is_new(std::size_t flow) const noexcept {
    return flow >= first_flows_ && !logs_[flow].peers_number;
  }
  void announce_retired(std::size_t flow);
  void about_connection(const Frame& frame);

  Rank rank_;
  TransportEvents& events_;
  ControlEvents& control_events_;
  UnaskedBytes& unasked_;
  Flows flows_;
  std::size_t used_;
  bool are_spared_ = false;

  std::size_t first_flows_;      ///< The number of connections at the beginning.
  std::vector<FrameLog> logs_;   ///< The logs, by connection; empty if the peer confirms nothing.
  std::vector<FlowPace> paces_;  ///< The pace of each, as `logs_`.
  /// The connection whose frames come, and the rule for them.
  struct Reading {
    std::size_t flow = 0;
    UnaskedChunks unasked = UnaskedChunks::kept;
    bool was_awaited = false;  ///< True if this rank waits for what comes.
  };
  Reading reading_{};
  std::vector<RetiredFlow> retired_;
  int retired_flows_ = 0;
  std::deque<SentFrame> again_;  ///< The frames of connections that were given up.

  std::vector<CarrierCard> cards_;
  TcpNotices notices_;
  std::deque<Sending> sending_;      ///< The most urgent first.
  std::size_t written_in_turn_ = 0;  ///< Bytes of messages that were given to connections.
  LongMessages long_;
  TcpReceives receives_;
  std::size_t likely_flow_ = 0;
  int looks_to_skip_ = 0;
  bool is_ending_ = false;
  bool has_left_ = false;  ///< True once its farewell has come.
};

}  // namespace fastgpu::comm
