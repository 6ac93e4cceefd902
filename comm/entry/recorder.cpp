#include "comm/entry/recorder.hpp"

#include <filesystem>
#include <fstream>
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

/// Rank 0 answers every other rank in turn.
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

std::ofstream file_in(const std::string& folder, Rank rank, const char* suffix) {
  std::error_code ignored;  // Then the file cannot be opened either.
  std::filesystem::create_directories(folder, ignored);
  return std::ofstream(folder + "/rank-" + std::to_string(rank.value) + suffix);
}

}  // namespace

Recorder::Recorder(Communicator& control, const EntrySettings& settings)
    : rank_(control.rank()),
      timeline_folder_(settings.timeline),
      counters_folder_(settings.counters) {
  if (timeline_folder_.empty()) return;
  timeline_.emplace();
  ahead_ = ahead_of_rank_0(control);
}

Recorder::~Recorder() {
  try {
    if (timeline_) write_timeline();
    if (!counters_folder_.empty()) write_counters();
  } catch (const std::exception&) {
    return;  // Out of memory at the end: what is left behind is incomplete.
  }
}

void Recorder::write_timeline() const {
  std::ofstream file = file_in(timeline_folder_, rank_, ".json");
  timeline_->write(file, rank_, ahead_);
}

void Recorder::write_counters() const {
  const auto whole = [](std::uint64_t count) { return static_cast<double>(count); };
  const Counter counters[] = {
      {"steps", "Steps that have ended", whole(counters_.steps)},
      {"steps_without_results", "Steps whose results nobody got",
       whole(counters_.steps_without_results)},
      {"buckets", "All-reduces of gradients", whole(counters_.buckets)},
      {"bucket_bytes", "Bytes of gradients reduced", whole(counters_.bucket_bytes)},
      {"negotiation_messages", "Messages about steps sent", whole(counters_.negotiation_messages)},
      {"negotiation_bytes", "Bytes about steps sent", whole(counters_.negotiation_bytes)},
      {"late_ranks", "Times that a rank was waited for too long", whole(counters_.late_ranks)},
      {"ready_seconds", "Time in making gradients ready", counters_.ready_seconds},
      {"unpack_seconds", "Time in unpacking gradients", counters_.unpack_seconds},
      {"wait_seconds", "Time in which the program waited for a step", counters_.wait_seconds}};
  file_in(counters_folder_, rank_, ".json") << counters_json(counters, rank_);
  file_in(counters_folder_, rank_, ".prom") << counters_prometheus(counters, rank_);
}

}  // namespace fastgpu::comm
