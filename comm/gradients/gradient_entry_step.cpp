// The half of the entry layer that ends steps.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/gradients/gradient_entry.hpp"

namespace fastgpu::comm {

StepOutcome GradientEntry::end_step(Verdicts wishes, std::optional<gpu::StreamHandle> stream) {
  const auto began = Timeline::Clock::now();
  if (device_) on_device([this] { device_->drain(); });  // The device's thread takes the lock.
  Lock lock(mutex_);
  begin(lock);
  const Agreement agreement = negotiate(wishes);
  if (agreement.summary.verdicts.differs)
    throw Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  finish(agreement);
  if (device_) on_device([&] { device_->finish_step(stream); });
  StepOutcome outcome = outcome_of(agreement);
  const std::optional<Error> failure = failure_of(agreement, outcome);
  next_step();
  if (!failure) change_plan(outcome);  // No rank would learn that views have moved.
  order_.clear();
  is_over_ = outcome.is_somebody_leaving;
  const auto ended = Timeline::Clock::now();
  recorder_->counters().wait_seconds += seconds_of(ended - began);
  if (recorder_->timeline() != nullptr)
    recorder_->timeline()->add({"wait_step", 0, outcome.step, 0, began, ended});
  if (failure) throw Error(*failure);
  return outcome;
}

std::optional<Error> GradientEntry::failure_of(const Agreement& agreement,
                                               const StepOutcome& outcome) const {
  if (agreement.is_torn() && !outcome.is_somebody_leaving)
    return Error(ErrorKind::usage, describe_differences(agreement.ranks, table_));
  if (outcome.non_finite && settings_.non_finite == NonFiniteAction::stop)
    return Error(ErrorKind::remote, describe(*outcome.non_finite, outcome.step, table_));
  return std::nullopt;
}

void GradientEntry::change_plan(StepOutcome& outcome) {
  const bool has_new_order = !is_order_known_;
  is_order_known_ = true;
  if (has_new_order) planned_order_ = order_of_rank_0(*control_, table_, order_);
  const bool has_new_setting = tuning_->step_ended();
  outcome.have_views_moved = has_new_order || has_new_setting;
  if (outcome.have_views_moved) move_views();
}

/// Moves views with the results in them.
void GradientEntry::move_views() {
  const bool has_views = std::ranges::any_of(values_, [](auto values) { return values.empty(); });
  std::vector<std::byte> before;
  if (has_views) before.assign(buffer_->bytes().begin(), buffer_->bytes().end());
  const std::vector<std::size_t> places = plan_.offset_of;
  lay_out();
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (!values_[i].empty()) continue;
    const auto now = in_buffer({i});
    std::ranges::copy(std::span(before).subspan(places[i], now.size()), now.begin());
  }
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
  LateRanks late;
  std::chrono::milliseconds waited = settings_.stall;
  Reminder reminder{std::chrono::steady_clock::now() + waited, [&] {
                      warn_of_stall(negotiation.awaited()->from, late, waited);
                      reminder.due += 2 * waited;
                      waited *= 3;
                    }};
  std::vector<std::byte> message;
  while (const auto awaited = negotiation.awaited()) {
    message.resize(awaited->bytes);
    control_->receive(message, awaited->from, reminder);
    negotiation.received(message);
    send(negotiation.take_outgoing());
    for (RankState& each : negotiation.take_late())
      late[each.rank] = std::move(each);
    // A rank that sends more than a notice of late ranks does not wait any more.
    const auto next = negotiation.awaited();
    if (next && next->from != awaited->from) late.clear();
  }
  under_way_.clear();
  return negotiation.agreement();
}

/// Warns. It is unknown whether a silent rank waits itself.
void GradientEntry::warn_of_stall(Rank awaited, const LateRanks& late,
                                  std::chrono::milliseconds waited) {
  const std::string since = "; this rank has waited for " + to_string(waited);
  for (const auto& [rank, state] : late)
    warn(describe_late(state, table_) + since);
  if (late.empty())
    warn("rank " + std::to_string(awaited.value) + " has sent nothing in step " +
         std::to_string(step_) + since);
  recorder_->ranks_are_late();
}

void GradientEntry::warn(const std::string& sentence) {
  if (events_ != nullptr) events_->warned(sentence);
}

void GradientEntry::send(std::vector<Negotiation::Outgoing> messages) {
  // Up to this length a message leaves without an action of its receiver, which may be sending one
  // itself.
  constexpr std::size_t kShort = 4096;
  EntryCounters& counters = recorder_->counters();
  for (Negotiation::Outgoing& each : messages) {
    ++counters.negotiation_messages;
    counters.negotiation_bytes += each.message.size();
    if (each.message.size() <= kShort) {
      control_->send(each.message, each.to, each.if_gone);
      continue;
    }
    Handle handle = control_->start_send(each.message, each.to, each.if_gone);
    under_way_.push_back({std::move(each.message), std::move(handle)});
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
    const auto began = Timeline::Clock::now();
    launcher_->wait(i);
    const auto came = Timeline::Clock::now();
    LaneCounters& lane = recorder_->counters_of(launcher_->lane_of(i));
    ++counters.buckets;
    ++lane.buckets;
    counters.bucket_bytes += plan_.buckets[i].bytes;
    lane.bytes += plan_.buckets[i].bytes;
    lane.wait_seconds += seconds_of(came - began);
    if (!applies) continue;
    unpack(i, agreement.details.ready_on_all);
    counters.unpack_seconds += seconds_of(Timeline::Clock::now() - came);
  }
}

StepOutcome GradientEntry::outcome_of(const Agreement& agreement) {
  StepOutcome outcome{.step = step_,
                      .is_applied = is_applied(agreement),
                      .skipped = agreement.details.ready_on_any.missing(),
                      .non_finite = agreement.details.report,
                      .is_somebody_leaving = agreement.summary.verdicts.is_leaving};
  if (outcome.non_finite) warn(describe(*outcome.non_finite, step_, table_));
  return outcome;
}

void GradientEntry::next_step() {
  recorder_->step_ended();
  ++step_;
  begun_.clear();
  ready_.clear();
  report_.reset();
  begin_launching();
  if (watch_) watch_->step_begins();
}

/// Reports lateness. A failure is that of the whole job, which the next call will meet as well.
void GradientEntry::say_late(std::chrono::milliseconds lasted) {
  if (is_over_) return;
  RankState mine = state({});
  mine.late_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(lasted.count(), UINT32_MAX));
  try {
    send(late_notices(mine, communicator_.size()));
  } catch (const Error&) {
    return;
  }
}

}  // namespace fastgpu::comm
