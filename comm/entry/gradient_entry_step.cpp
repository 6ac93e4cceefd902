// The half of the entry layer that ends steps, and that says when one does not end.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "comm/entry/gradient_entry.hpp"

namespace fastgpu::comm {

StepOutcome GradientEntry::end_step(Verdicts wishes) {
  const auto began = std::chrono::steady_clock::now();
  Lock lock(mutex_);
  begin(lock);
  const Agreement agreement = negotiate(wishes);
  if (agreement.summary.verdicts.differs)
    throw Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  finish(agreement);
  StepOutcome outcome = outcome_of(agreement);
  next_step();
  if (outcome.step == 0 && !has_priorities(table_)) {
    lay_out(order_of_rank_0(*control_, table_, order_));
    outcome.have_views_moved = true;
  }
  order_.clear();
  counters_.wait_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (agreement.is_torn() && !outcome.is_somebody_leaving)
    throw Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  if (outcome.non_finite && settings_.non_finite == NonFiniteAction::stop)
    throw Error(ErrorKind::remote, describe(*outcome.non_finite, outcome.step, table_));
  return outcome;
}

RankState GradientEntry::state(Verdicts verdicts) const {
  return {.rank = communicator_.rank(),
          .step = step_,
          .plan = plan_hash_,
          .verdicts = verdicts,
          .ready = ready_};
}

Agreement GradientEntry::negotiate(Verdicts wishes) {
  Negotiation negotiation(communicator_.rank(), communicator_.size(), table_.size(),
                          {state(wishes), report_});
  send(negotiation.take_outgoing());
  std::vector<std::byte> message;
  while (const auto awaited = negotiation.awaited()) {
    message.resize(awaited->bytes);
    control_->receive(message, awaited->from);
    negotiation.received(message);
    send(negotiation.take_outgoing());
    for (const RankState& late : negotiation.take_late()) {
      ++counters_.late_ranks;
      if (events_ != nullptr) events_->warned(describe_late(late, table_));
    }
  }
  return negotiation.agreement();
}

void GradientEntry::send(const std::vector<Negotiation::Outgoing>& messages) {
  for (const Negotiation::Outgoing& each : messages) {
    control_->send(each.message, each.to);
    ++counters_.negotiation_messages;
    counters_.negotiation_bytes += each.message.size();
  }
}

bool GradientEntry::is_applied(const Agreement& agreement) const {
  const bool is_bad =
      agreement.details.report.has_value() && (settings_.non_finite == NonFiniteAction::skip ||
                                               settings_.non_finite == NonFiniteAction::stop);
  return !is_bad && !agreement.is_torn();
}

void GradientEntry::finish(const Agreement& agreement) {
  launcher_->launch_rest(agreement.details.ready_on_any);
  const bool applies = is_applied(agreement);
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    if (!launcher_->is_launched(i)) continue;
    launcher_->wait(i);
    ++counters_.buckets;
    counters_.gradient_bytes += plan_.buckets[i].bytes;
    if (applies) unpack(plan_.buckets[i], agreement.details.ready_on_all);
  }
}

StepOutcome GradientEntry::outcome_of(const Agreement& agreement) const {
  StepOutcome outcome{.step = step_,
                      .is_applied = is_applied(agreement),
                      .skipped = agreement.details.ready_on_any.missing(),
                      .non_finite = agreement.details.report,
                      .is_somebody_leaving = agreement.summary.verdicts.is_leaving};
  if (outcome.non_finite && events_ != nullptr)
    events_->warned(describe(*outcome.non_finite, step_, table_));
  return outcome;
}

void GradientEntry::next_step() {
  ++counters_.steps;
  ++step_;
  begun_.clear();
  ready_.clear();
  report_.reset();
  launcher_->begin_step(op_);
  step_began_ = std::chrono::steady_clock::now();
  step_ended_.notify_all();
}

// ---- a step that does not end ----

/// Once for each step that takes longer than settings_.stall.
void GradientEntry::watch(const std::stop_token& stop) {
  Lock lock(mutex_);
  std::optional<std::uint32_t> told;
  while (!stop.stop_requested()) {
    const std::uint32_t seen = step_;
    const auto has_moved_on = [&] { return step_ != seen; };
    if (told == seen)
      step_ended_.wait(lock, stop, has_moved_on);
    else
      step_ended_.wait_until(lock, stop, step_began_ + settings_.stall, has_moved_on);
    if (stop.stop_requested() || has_moved_on()) continue;
    told = seen;
    say_late();
  }
}

/// A failure is that of the whole job, which the next call will meet as well.
void GradientEntry::say_late() {
  try {
    send(late_notices(state({}), communicator_.size()));
  } catch (const Error&) {
    return;
  }
}

}  // namespace fastgpu::comm
