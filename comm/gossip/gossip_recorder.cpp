#include "comm/gossip/gossip_recorder.hpp"

#include <exception>
#include <ostream>
#include <utility>
#include <vector>

#include "comm/trace/clock.hpp"
#include "comm/trace/counters.hpp"

namespace fastgpu::comm {
namespace {

/// Returns the name of a step in a timeline.
const char* name_of_step(const GossipReport& report) noexcept {
  if (report.is_exact) return "exact average";
  if (!report.rung.codec) return "mix";
  switch (report.rung.codec->id) {
    case CodecId::int8:
      return "mix by int8";
    case CodecId::one_bit:
      return "mix by 1bit";
    case CodecId::top_k:
      return "mix by topk";
    case CodecId::power_sgd:
      break;
  }
  return "mix";
}

double as_number(std::uint64_t number) noexcept {
  return static_cast<double>(number);
}

}  // namespace

GossipRecorder::GossipRecorder(Communicator& control, const GossipSettings& settings,
                               RankFiles::Warn warn, Timeline::Clock::duration between_writes)
    : control_(control),
      rank_(control.rank()),
      counters_file_("FASTGPU_COMM_COUNTERS", settings.counters, rank_, warn),
      timeline_file_("FASTGPU_COMM_TIMELINE", settings.timeline, rank_, std::move(warn)),
      schedule_(between_writes) {
  if (!timeline_file_.is_wanted()) return;
  timeline_.emplace();
  ahead_ = ahead_of_rank_0(control);
}

GossipRecorder::~GossipRecorder() {
  try {
    write();
  } catch (const std::exception&) {
    return;  // Out of memory at the end: the files stay incomplete.
  }
}

void GossipRecorder::step_ended(const GossipReport& report, Timeline::Clock::time_point began) {
  const auto ended = Timeline::Clock::now();
  last_ = report;
  ++steps_;
  exact_steps_ += report.is_exact ? 1 : 0;
  bytes_ += report.bytes;
  const bool has_intervened =
      report.action != GuardAction::none && report.action != GuardAction::relaxed;
  actions_ += has_intervened ? 1 : 0;
  seconds_ += std::chrono::duration<double>(ended - began).count();
  if (timeline_)
    timeline_->add({name_of_step(report), 0, static_cast<std::uint32_t>(report.step), report.bytes,
                    began, ended});
  schedule_.write_if_due([this] { write(); });
}

void GossipRecorder::write() {
  if (timeline_)
    timeline_file_.write(".json",
                         [this](std::ostream& out) { timeline_->write(out, rank_, ahead_); });
  if (counters_file_.is_wanted()) write_counters();
}

void GossipRecorder::write_counters() {
  const Counter counters[] = {
      {"gossip_steps", "Steps of gossip that have ended", as_number(steps_)},
      {"gossip_exact_steps", "Steps of gossip that averaged exactly", as_number(exact_steps_)},
      {"gossip_bytes", "Bytes of gossip sent to other members", as_number(bytes_)},
      {"gossip_seconds", "Time in steps of gossip", seconds_},
      {"gossip_guard_actions", "Times that the guard has intervened", as_number(actions_)},
      {.name = "gossip_neighbours",
       .help = "Members that the last step has sent to",
       .value = as_number(last_.neighbours),
       .is_state = true},
      {.name = "gossip_distance",
       .help = "Distance of a rank from the average over all, measured last",
       .value = last_.distance,
       .is_state = true},
      {.name = "gossip_step_size",
       .help = "Part of the difference that a step takes over",
       .value = last_.rung.step_size,
       .is_state = true},
      {.name = "gossip_guard_level",
       .help = "Interventions of the guard in force",
       .value = as_number(last_.guard_level),
       .is_state = true}};
  const std::vector<LinkCounters> links = control_.links();
  counters_file_.write(".json",
                       [&](std::ostream& out) { out << counters_json(counters, links, rank_); });
  // Prometheus takes each count of a rank once.
  if (!counters_file_.is_first()) return;
  counters_file_.write(
      ".prom", [&](std::ostream& out) { out << counters_prometheus(counters, links, rank_); });
}

}  // namespace fastgpu::comm
