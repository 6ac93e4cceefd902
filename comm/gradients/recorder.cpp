#include "comm/gradients/recorder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "comm/trace/clock.hpp"
#include "comm/trace/counters.hpp"

namespace fastgpu::comm {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

Nanoseconds now() {
  return Timeline::Clock::now().time_since_epoch();
}

constexpr int kRoundTrips = 8;

/// Returns the lead of this rank's clock. Rank 0 answers every other rank in turn.
Nanoseconds ahead_of_rank_0(Communicator& control) {
  std::int64_t remote = 0;
  const auto bytes = std::as_writable_bytes(std::span(&remote, 1));
  if (control.rank() == Rank{0}) {
    for (int rank = 1; rank < control.size(); ++rank)
      for (int trip = 0; trip < kRoundTrips; ++trip) {
        control.receive(bytes, {rank});
        remote = now().count();
        control.send(bytes, {rank});
      }
    return {};
  }
  std::vector<RoundTrip> trips;
  for (int trip = 0; trip < kRoundTrips; ++trip) {
    const Nanoseconds sent = now();
    control.send(bytes, {0});
    control.receive(bytes, {0});
    trips.push_back({sent, Nanoseconds(remote), now()});
  }
  return clock_offset(trips).ahead;
}

/// The divisor of the time between two writes: a write may take that share.
constexpr int kShare = 100;

/// Replaces the file in one step: a reader meanwhile finds the complete earlier one.
void write_file(const std::string& folder, Rank rank, const std::string& suffix,
                const std::function<void(std::ostream&)>& write) {
  const std::string name = folder + "/rank-" + std::to_string(rank.value) + suffix;
  std::error_code ignored;  // Then the file cannot be opened either.
  std::filesystem::create_directories(folder, ignored);
  std::ofstream fresh(name + ".new");
  write(fresh);
  fresh.close();
  if (fresh) std::filesystem::rename(name + ".new", name, ignored);
}

/// Returns one value for each stream.
template <class Of>
std::vector<double> by_stream(const GradientCounters& counters, Of of) {
  std::vector<double> values;
  for (const StreamCounters& stream : counters.streams)
    values.push_back(static_cast<double>(of(stream)));
  return values;
}

}  // namespace

Recorder::Recorder(Communicator& control, const GradientSettings& settings,
                   Timeline::Clock::duration between_writes)
    : control_(control),
      rank_(control.rank()),
      timeline_folder_(settings.timeline),
      counters_folder_(settings.counters),
      between_writes_(between_writes) {
  if (timeline_folder_.empty()) return;
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

void Recorder::write_timeline() const {
  write_file(timeline_folder_, rank_, ".json",
             [this](std::ostream& out) { timeline_->write(out, rank_, ahead_); });
}

void Recorder::write_counters() const {
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
  write_file(counters_folder_, rank_, ".json",
             [&](std::ostream& out) { out << counters_json(counters, links, rank_); });
  write_file(counters_folder_, rank_, ".prom",
             [&](std::ostream& out) { out << counters_prometheus(counters, links, rank_); });
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
  const auto began = Timeline::Clock::now();
  if (began < due_) return;
  write();
  const auto ended = Timeline::Clock::now();
  due_ = ended + std::max(between_writes_, kShare * (ended - began));
}

void Recorder::write() const {
  if (timeline_) write_timeline();
  if (!counters_folder_.empty()) write_counters();
}

}  // namespace fastgpu::comm
