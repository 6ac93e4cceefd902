#include "comm/gradients/recorder.hpp"

#include <utility>
#include <vector>

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

std::vector<Counter> as_list(const GradientCounters& counters) {
  const auto whole = [](std::uint64_t count) { return static_cast<double>(count); };
  return {
      {"steps", "Steps that have ended", whole(counters.steps)},
      {"steps_without_results", "Steps without results on any rank",
       whole(counters.steps_without_results)},
      {"buckets", "All-reduces of gradients", whole(counters.buckets)},
      {"bucket_bytes", "Bytes of gradients reduced", whole(counters.bucket_bytes)},
      {"negotiation_messages", "Messages about steps sent", whole(counters.negotiation_messages)},
      {"negotiation_bytes", "Bytes about steps sent", whole(counters.negotiation_bytes)},
      {"late_ranks", "Times that a rank was waited for too long", whole(counters.late_ranks)},
      {"ready_seconds", "Time in making gradients ready", counters.ready_seconds},
      {"unpack_seconds", "Time in unpacking gradients", counters.unpack_seconds},
      {"wait_seconds", "Time in which the program waited for a step", counters.wait_seconds},
      {"lane_buckets", "All-reduces of gradients by lane", 0,
       by_stream(counters, [](const StreamCounters& stream) { return stream.buckets; })},
      {"lane_bytes", "Bytes of gradients reduced by lane", 0,
       by_stream(counters, [](const StreamCounters& stream) { return stream.bytes; })},
      {"lane_wait_seconds", "Time in which the end of a step waited for a lane", 0,
       by_stream(counters, [](const StreamCounters& stream) { return stream.wait_seconds; })}};
}

}  // namespace

void GradientCounters::add(const GradientCounters& other) noexcept {
  steps += other.steps;
  steps_without_results += other.steps_without_results;
  buckets += other.buckets;
  bucket_bytes += other.bucket_bytes;
  negotiation_messages += other.negotiation_messages;
  negotiation_bytes += other.negotiation_bytes;
  late_ranks += other.late_ranks;
  ready_seconds += other.ready_seconds;
  unpack_seconds += other.unpack_seconds;
  wait_seconds += other.wait_seconds;
}

Recorder::Recorder(Communicator& control, const GradientSettings& settings, Warn warn,
                   Timeline::Clock::duration between_writes)
    : record_(control, {settings.timeline, settings.counters}, std::move(warn), between_writes,
              [this] { return as_list(counters_); }) {}

StreamCounters& Recorder::counters_of(std::size_t stream) {
  if (counters_.streams.size() <= stream) counters_.streams.resize(stream + 1);
  return counters_.streams[stream];
}

void Recorder::step_ended() {
  ++counters_.steps;
  record_.write_if_due();
}

void Recorder::ranks_are_late() {
  ++counters_.late_ranks;
  record_.write_if_due();
}

}  // namespace fastgpu::comm
