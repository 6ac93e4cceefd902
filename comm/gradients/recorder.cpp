#include "comm/gradients/recorder.hpp"

#include <ostream>
#include <utility>
#include <vector>

#include "comm/trace/clock.hpp"
#include "comm/trace/counters.hpp"

namespace fastgpu::comm {
namespace {

/// Returns one value for each stream.
template <class Of>
std::vector<double> by_stream(const GradientCounters& counters, Of of) {
  std::vector<double> values;
  for (const StreamCounters& stream : counters.streams)
    values.push_back(static_cast<double>(of(stream)));
  return values;
}

}  // namespace

Recorder::Recorder(Communicator& control, const GradientSettings& settings, Warn warn,
                   Timeline::Clock::duration between_writes)
    : control_(control),
      rank_(control.rank()),
      counters_file_("FASTGPU_COMM_COUNTERS", settings.counters, rank_, warn),
      timeline_file_("FASTGPU_COMM_TIMELINE", settings.timeline, rank_, std::move(warn)),
      schedule_(between_writes) {
  if (!timeline_file_.is_wanted()) return;
  timeline_.emplace();
  ahead_ = ahead_of_rank_0(control);
}

Recorder::~Recorder() {
  try {
    write();
  } catch (const std::exception&) {
    return;  // Out of memory at the end: the files stay incomplete.
  }
}

void Recorder::write_counters() {
  const auto whole = [](std::uint64_t count) { return static_cast<double>(count); };
  const Counter counters[] = {
      {"steps", "Steps that have ended", whole(counters_.steps)},
      {"steps_without_results", "Steps without results on any rank",
       whole(counters_.steps_without_results)},
      {"buckets", "All-reduces of gradients", whole(counters_.buckets)},
      {"bucket_bytes", "Bytes of gradients reduced", whole(counters_.bucket_bytes)},
      {"negotiation_messages", "Messages about steps sent", whole(counters_.negotiation_messages)},
      {"negotiation_bytes", "Bytes about steps sent", whole(counters_.negotiation_bytes)},
      {"late_ranks", "Times that a rank was waited for too long", whole(counters_.late_ranks)},
      {"ready_seconds", "Time in making gradients ready", counters_.ready_seconds},
      {"unpack_seconds", "Time in unpacking gradients", counters_.unpack_seconds},
      {"wait_seconds", "Time in which the program waited for a step", counters_.wait_seconds},
      {"lane_buckets", "All-reduces of gradients by lane", 0,
       by_stream(counters_, [](const StreamCounters& stream) { return stream.buckets; })},
      {"lane_bytes", "Bytes of gradients reduced by lane", 0,
       by_stream(counters_, [](const StreamCounters& stream) { return stream.bytes; })},
      {"lane_wait_seconds", "Time in which the end of a step waited for a lane", 0,
       by_stream(counters_, [](const StreamCounters& stream) { return stream.wait_seconds; })}};
  const std::vector<LinkCounters> links = control_.links();
  counters_file_.write(".json",
                       [&](std::ostream& out) { out << counters_json(counters, links, rank_); });
  // Prometheus takes each count of a rank once.
  if (!counters_file_.is_first()) return;
  counters_file_.write(
      ".prom", [&](std::ostream& out) { out << counters_prometheus(counters, links, rank_); });
}

StreamCounters& Recorder::counters_of(std::size_t stream) {
  if (counters_.streams.size() <= stream) counters_.streams.resize(stream + 1);
  return counters_.streams[stream];
}

void Recorder::step_ended() {
  ++counters_.steps;
  write_if_due();
}

void Recorder::ranks_are_late() {
  ++counters_.late_ranks;
  write_if_due();
}

void Recorder::write_if_due() {
  schedule_.write_if_due([this] { write(); });
}

void Recorder::write() {
  if (timeline_)
    timeline_file_.write(".json",
                         [this](std::ostream& out) { timeline_->write(out, rank_, ahead_); });
  if (counters_file_.is_wanted()) write_counters();
}

}  // namespace fastgpu::comm
