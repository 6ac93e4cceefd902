// The agreement of ranks on a step, without a coordinator: a state machine that takes messages and
// gives messages, and is independent of their transport.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/gradients/step_state.hpp"

namespace fastgpu::comm {

/// The common knowledge of all ranks at the end of a step; the same on each, and `ranks` if they
/// had to ask.
struct Agreement {
  Summary summary;
  Details details;
  std::vector<RankState> ranks{};  ///< The states by rank; empty if all went the same way.

  /// Returns true if a gradient is ready on some ranks and not on others.
  bool is_torn() const noexcept { return !(details.ready_on_all == details.ready_on_any); }
};

/// A rank's side of the negotiation. Each round, a rank sends what it knows to one rank and
/// receives from another, twice as far away every time. After ceil(log2 ranks) rounds every rank
/// knows all, because knowledge may be combined twice. A step without problems takes one such
/// exchange of Summary::kBytes. One with gaps or with numbers that are not finite takes another of
/// Details. If ranks have diverged, each sends its RankState to every other.
///
/// A late rank announces this ahead of its summary, and again each time its step has lasted twice
/// as long. Its receivers pass it on to the ranks that wait for them, so that every waiting rank
/// learns which rank is late.
class Negotiation {
 public:
  struct Outgoing {
    Rank to{};
    std::vector<std::byte> message;
    IfGone if_gone = IfGone::fails;
  };
  struct Awaited {
    Rank from{};
    std::size_t bytes = 0;
  };

  /// The contribution of this rank: `mine` of its step, and `report` of its finding.
  struct Statement {
    RankState mine;
    std::optional<NonFiniteReport> report{};
  };

  Negotiation(Rank self, int ranks, std::size_t gradients, Statement statement);

  /// Returns the messages to send, in this order; between two ranks messages keep their order.
  std::vector<Outgoing> take_outgoing();

  /// Returns the next message that is needed; absent once all is known.
  std::optional<Awaited> awaited() const;

  /// Takes the awaited message. Throws ErrorKind::remote, naming the rank, for an invalid one.
  void received(std::span<const std::byte> message);

  /// Returns the reports of late ranks since the last call.
  std::vector<RankState> take_late();

  /// Returns the agreement; valid once no message is awaited.
  const Agreement& agreement() const noexcept { return agreement_; }

 private:
  enum class Phase : std::uint8_t { summary, details, ranks, done };

  Rank at_distance(int distance) const noexcept;
  void begin_round();
  void next_phase();
  void advance();
  void take_summary(std::span<const std::byte> message);
  void take_notice(std::span<const std::byte> message);
  void take_state(std::span<const std::byte> message);
  void take(std::span<const std::byte> message);
  bool must_ask() const noexcept;

  Rank self_;
  int ranks_;
  std::size_t gradients_;
  RankState mine_;
  Agreement agreement_;
  Phase phase_ = Phase::summary;
  int distance_ = 1;  ///< The distance to the ranks of this round.
  bool expects_notice_ = false;
  std::vector<Outgoing> outgoing_;
  /// The time in the latest notice of each rank; 0 before any.
  std::vector<std::uint32_t> late_ms_;
  std::vector<RankState> late_;
};

/// Returns the messages of a late rank before its negotiation of this step begins.
std::vector<Negotiation::Outgoing> late_notices(const RankState& mine, int ranks);

}  // namespace fastgpu::comm
