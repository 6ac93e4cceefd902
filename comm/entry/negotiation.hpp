// How ranks agree on what happened in a step, without a coordinator: as a state machine that is
// given messages and gives messages, and knows nothing of how they travel.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/entry/step_state.hpp"

namespace fastgpu::comm {

/// What all ranks know at the end of a step; the same on each, and `ranks` where they had to ask.
struct Agreement {
  Summary summary;
  Details details;
  std::vector<RankState> ranks{};  ///< By rank; empty where all went the same way.

  /// Whether a gradient is ready on some ranks and not on others.
  bool is_torn() const noexcept { return !(details.ready_on_all == details.ready_on_any); }
};

/// Each round, a rank sends what it knows to one rank and hears from another, twice as far away
/// every time: after ceil(log2 ranks) rounds everybody knows all, for what is combined may be
/// combined twice. A step in which all went well takes one such exchange of Summary::kBytes; one
/// with gaps or with numbers that are none takes another of Details; and where ranks have gone
/// different ways each tells every other its RankState.
///
/// A rank that is late says so ahead of its summary, and again each time its step has lasted twice
/// as long. Those who hear it pass it on to whoever waits for them: everybody who waits learns whom
/// for.
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

  /// What this rank says: `mine` of its step, and `report` of what it has found.
  struct Statement {
    RankState mine;
    std::optional<NonFiniteReport> report{};
  };

  Negotiation(Rank self, int ranks, std::size_t gradients, Statement statement);

  /// To be sent, in this order; between two ranks messages keep their order.
  std::vector<Outgoing> take_outgoing();

  /// The message that is needed next; absent once all is known.
  std::optional<Awaited> awaited() const;

  /// Takes what was awaited. Throws ErrorKind::remote, naming the rank, for what makes no sense.
  void received(std::span<const std::byte> message);

  /// What ranks that are late have said since the last call.
  std::vector<RankState> take_late();

  /// Once nothing is awaited.
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
  int distance_ = 1;  ///< To the ranks of this round.
  bool expects_notice_ = false;
  std::vector<Outgoing> outgoing_;
  std::vector<std::uint32_t> late_ms_;  ///< By rank: what the latest notice said; 0 before any.
  std::vector<RankState> late_;
};

/// What a rank that is late sends before its negotiation of this step begins.
std::vector<Negotiation::Outgoing> late_notices(const RankState& mine, int ranks);

}  // namespace fastgpu::comm
