// The half of the entry layer that ends steps.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "comm/entry/gradient_entry.hpp"

namespace fastgpu::comm {

StepOutcome GradientEntry::end_step(Verdicts wishes) {
  const auto began = Timeline::Clock::now();
  Lock lock(mutex_);
  begin(lock);
  const Agreement agreement = negotiate(wishes);
  if (agreement.summary.verdicts.differs)
    throw Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  finish(agreement);
  StepOutcome outcome = outcome_of(agreement);
  next_step();
  change_plan(outcome);
  order_.clear();
  const auto ended = Timeline::Clock::now();
  recorder_->counters().wait_seconds += seconds_of(ended - began);
  if (recorder_->timeline() != nullptr)
    recorder_->timeline()->add({"wait_step", 0, outcome.step, 0, began, ended});
  if (agreement.is_torn() && !outcome.is_somebody_leaving)
    throw Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  if (outcome.non_finite && settings_.non_finite == NonFiniteAction::stop)
    throw Error(ErrorKind::remote, describe(*outcome.non_finite, outcome.step, table_));
  return outcome;
}

void GradientEntry::change_plan(StepOutcome& outcome) {
  const bool has_new_order = outcome.step == 0 && !has_priorities(table_);
  if (has_new_order) planned_order_ = order_of_rank_0(*control_, table_, order_);
  const bool has_new_setting = tuning_->step_ended();
  outcome.have_views_moved = has_new_order || has_new_setting;
  if (outcome.have_views_moved) lay_out();
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
      ++recorder_->counters().late_ranks;
      if (events_ != nullptr) events_->warned(describe_late(late, table_));
    }
  }
  return negotiation.agreement();
}

void GradientEntry::send(const std::vector<Negotiation::Outgoing>& messages) {
  EntryCounters& counters = recorder_->counters();
  for (const Negotiation::Outgoing& each : messages) {
    control_->send(each.message, each.to);
    ++counters.negotiation_messages;
    counters.negotiation_bytes += each.message.size();
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
  EntryCounters& counters = recorder_->counters();
  const bool applies = is_applied(agreement);
  if (!applies) ++counters.steps_without_results;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    if (!launcher_->is_launched(i)) continue;
    launcher_->wait(i);
    ++counters.buckets;
    counters.bucket_bytes += plan_.buckets[i].bytes;
    if (!applies) continue;
    const auto began = Timeline::Clock::now();
    unpack(plan_.buckets[i], agreement.details.ready_on_all);
    counters.unpack_seconds += seconds_of(Timeline::Clock::now() - began);
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
  ++recorder_->counters().steps;
  ++step_;
  begun_.clear();
  ready_.clear();
  report_.reset();
  launcher_->begin_step(op_, step_);
  if (watch_) watch_->step_begins();
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
