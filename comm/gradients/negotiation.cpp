#include "comm/gradients/negotiation.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

using Messages = std::vector<Negotiation::Outgoing>;

/// Adds a notice to the ranks `distance`, twice that, four times that ... after `self`, up to the
/// last rank.
void tell_successors(Messages& messages, Rank self, int distance, int ranks,
                     const RankState& late) {
  for (; distance < ranks; distance *= 2) {
    const Rank to{(self.value + distance) % ranks};
    messages.push_back(
        {to, encode(Summary{.step = late.step, .is_late = true}), IfGone::is_ignored});
    messages.push_back({to, encode(late), IfGone::is_ignored});
  }
}

}  // namespace

Negotiation::Negotiation(Rank self, int ranks, std::size_t gradients, Statement statement)
    : self_(self),
      ranks_(ranks),
      gradients_(gradients),
      mine_(std::move(statement.mine)),
      late_ms_(static_cast<std::size_t>(ranks)) {
  mine_.rank = self;
  mine_.verdicts.is_incomplete = !mine_.ready.is_full();
  mine_.verdicts.has_non_finite = statement.report.has_value();
  agreement_.summary = {mine_.step, static_cast<std::uint32_t>(mine_.plan), mine_.verdicts};
  agreement_.details = {mine_.ready, mine_.ready, statement.report};
  begin_round();
}

std::vector<Negotiation::Outgoing> Negotiation::take_outgoing() {
  return std::exchange(outgoing_, {});
}

std::optional<Negotiation::Awaited> Negotiation::awaited() const {
  switch (phase_) {
    case Phase::summary:
      return Awaited{at_distance(-distance_),
                     expects_notice_ ? RankState::bytes(gradients_) : Summary::kBytes};
    case Phase::details:
      return Awaited{at_distance(-distance_), Details::bytes(gradients_)};
    case Phase::ranks:
      return Awaited{at_distance(-distance_), RankState::bytes(gradients_)};
    case Phase::done:
      return std::nullopt;
  }
  return std::nullopt;
}

void Negotiation::received(std::span<const std::byte> message) {
  const Rank from = at_distance(-distance_);
  try {
    take(message);
  } catch (const Error& e) {
    throw e.during("rank " + std::to_string(from.value));
  }
}

std::vector<RankState> Negotiation::take_late() {
  return std::exchange(late_, {});
}

Rank Negotiation::at_distance(int distance) const noexcept {
  return {(self_.value + distance + ranks_) % ranks_};
}

void Negotiation::begin_round() {
  while (phase_ != Phase::done && distance_ >= ranks_)
    next_phase();
  const Rank to = at_distance(distance_);
  switch (phase_) {
    case Phase::summary:
      return outgoing_.push_back({to, encode(agreement_.summary)});
    case Phase::details:
      return outgoing_.push_back({to, encode(agreement_.details)});
    case Phase::ranks:
      return outgoing_.push_back({to, encode(mine_)});
    case Phase::done:
      return;
  }
}

void Negotiation::next_phase() {
  distance_ = 1;
  if (phase_ == Phase::summary && agreement_.summary.verdicts.needs_details()) {
    phase_ = Phase::details;
  } else if (phase_ != Phase::ranks && must_ask()) {
    phase_ = Phase::ranks;
    agreement_.ranks.assign(static_cast<std::size_t>(ranks_), RankState{});
    agreement_.ranks[static_cast<std::size_t>(self_.value)] = mine_;
  } else {
    phase_ = Phase::done;
  }
}

void Negotiation::take(std::span<const std::byte> message) {
  switch (phase_) {
    case Phase::summary:
      return expects_notice_ ? take_notice(message) : take_summary(message);
    case Phase::details:
      agreement_.details.combine(decode_details(message, gradients_));
      return advance();
    case Phase::ranks:
      return take_state(message);
    case Phase::done:
      throw Error(ErrorKind::internal, "a message after the end of the step");
  }
}

void Negotiation::take_summary(std::span<const std::byte> message) {
  const Summary summary = decode_summary(message);
  expects_notice_ = summary.is_late;
  if (summary.is_late) return;
  agreement_.summary.combine(summary);
  advance();
}

void Negotiation::take_notice(std::span<const std::byte> message) {
  RankState late = decode_rank_state(message, gradients_);
  expects_notice_ = false;
  if (late.rank.value >= ranks_) throw Error(ErrorKind::remote, "the late rank does not exist");
  if (late.rank == self_) return;  // The notice has gone round.
  std::uint32_t& known_ms = late_ms_[static_cast<std::size_t>(late.rank.value)];
  if (late.late_ms == 0 || late.late_ms / 2 < known_ms) return;  // Received by another way already.
  known_ms = late.late_ms;
  // Nearer ranks have this rank's summary already.
  tell_successors(outgoing_, self_, 2 * distance_, ranks_, late);
  late_.push_back(std::move(late));
}

void Negotiation::take_state(std::span<const std::byte> message) {
  RankState state = decode_rank_state(message, gradients_);
  const Rank from = at_distance(-distance_);
  if (state.rank != from) throw Error(ErrorKind::remote, "the state of another rank");
  agreement_.ranks[static_cast<std::size_t>(from.value)] = std::move(state);
  advance();
}

void Negotiation::advance() {
  distance_ = phase_ == Phase::ranks ? distance_ + 1 : 2 * distance_;
  begin_round();
}

/// Returns true if all ranks must ask each other. Every rank decides the same, because every rank
/// knows the same.
bool Negotiation::must_ask() const noexcept {
  return agreement_.summary.verdicts.differs || agreement_.is_torn();
}

std::vector<Negotiation::Outgoing> late_notices(const RankState& mine, int ranks) {
  Messages messages;
  tell_successors(messages, mine.rank, 1, ranks, mine);
  return messages;
}

}  // namespace fastgpu::comm
