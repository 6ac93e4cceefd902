#include "comm/gossip/gossip_recorder.hpp"

#include <utility>
#include <vector>

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

std::vector<Counter> as_list(const GossipCounters& counters) {
  return {{"gossip_steps", "Steps of gossip that have ended", as_number(counters.steps)},
          {"gossip_exact_steps", "Steps of gossip that averaged exactly",
           as_number(counters.exact_steps)},
          {"gossip_bytes", "Bytes of gossip sent to other members", as_number(counters.bytes)},
          {"gossip_seconds", "Time in steps of gossip", counters.seconds},
          {"gossip_guard_actions", "Times that the guard has intervened",
           as_number(counters.interventions)},
          {.name = "gossip_neighbours",
           .help = "Members that the last step has sent to",
           .value = as_number(counters.last.neighbours),
           .is_state = true},
          {.name = "gossip_distance",
           .help = "Distance of a rank from the average over all, measured last",
           .value = counters.last.distance,
           .is_state = true},
          {.name = "gossip_step_size",
           .help = "Part of the difference that a step takes over",
           .value = counters.last.rung.step_size,
           .is_state = true},
          {.name = "gossip_guard_level",
           .help = "Interventions of the guard in force",
           .value = as_number(counters.last.guard_level),
           .is_state = true}};
}

}  // namespace

GossipRecorder::GossipRecorder(Communicator& control, const GossipSettings& settings,
                               RankFiles::Warn warn, Timeline::Clock::duration between_writes)
    : record_(control, {settings.timeline, settings.counters}, std::move(warn), between_writes,
              [this] { return as_list(counters_); }) {}

void GossipRecorder::step_ended(const GossipReport& report, Timeline::Clock::time_point began) {
  const auto ended = Timeline::Clock::now();
  const bool has_intervened =
      report.action != GuardAction::none && report.action != GuardAction::relaxed;
  ++counters_.steps;
  counters_.exact_steps += report.is_exact ? 1 : 0;
  counters_.bytes += report.bytes;
  counters_.interventions += has_intervened ? 1 : 0;
  counters_.seconds += std::chrono::duration<double>(ended - began).count();
  counters_.last = report;
  if (Timeline* const timeline = record_.timeline())
    timeline->add({name_of_step(report), 0, static_cast<std::uint32_t>(report.step), report.bytes,
                   began, ended, report.bytes});
  record_.write_if_due();
}

}  // namespace fastgpu::comm
