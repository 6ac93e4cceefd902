#include "comm/gradients/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/names.hpp"
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

std::string name_of_file(Rank rank, const std::string& suffix) {
  return "rank-" + std::to_string(rank.value) + suffix;
}

/// Replaces the file in one step: a reader meanwhile finds the complete earlier one. Returns the
/// error if it cannot be written.
std::error_code write_file(const std::string& folder, const std::string& name,
                           const std::function<void(std::ostream&)>& write) {
  const std::string path = folder + "/" + name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return error;
  errno = 0;
  std::ofstream fresh(path + ".new");
  if (fresh) write(fresh);
  fresh.close();
  if (fresh) {
    std::filesystem::rename(path + ".new", path, error);
    return error;
  }
  error = {errno == 0 ? EIO : errno, std::generic_category()};
  std::error_code ignored;  // There may be no such file.
  std::filesystem::remove(path + ".new", ignored);
  return error;
}

/// Returns the error that `write_file` would return; writes nothing.
std::error_code try_to_write(const std::string& folder, const std::string& name) {
  const std::string scratch = name + ".try";
  const std::error_code error = write_file(folder, scratch, [](std::ostream&) {});
  std::error_code ignored;
  std::filesystem::remove(folder + "/" + scratch, ignored);
  return error;
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

Recorder::Recorder(Communicator& control, const GradientSettings& settings, Warn warn,
                   Timeline::Clock::duration between_writes)
    : control_(control),
      rank_(control.rank()),
      timeline_folder_(settings.timeline),
      counters_folder_(settings.counters),
      warn_(std::move(warn)),
      between_writes_(between_writes) {
  const std::string name = name_of_file(rank_, ".json");
  if (!counters_folder_.empty())
    check_written(try_to_write(counters_folder_, name), "COUNTERS", counters_folder_, name);
  if (timeline_folder_.empty()) return;
  check_written(try_to_write(timeline_folder_, name), "TIMELINE", timeline_folder_, name);
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

/// Warns once of a folder that cannot be written to.
void Recorder::check_written(const std::error_code& error, const std::string& variable,
                             const std::string& folder, const std::string& name) {
  if (!error || !warn_ || !reported_.insert(variable).second) return;
  warn_("FASTGPU_COMM_" + variable + " is '" + printable(folder, 200) + "', but rank " +
        std::to_string(rank_.value) + " cannot write " + name + " there: " + error.message());
}

void Recorder::write_timeline() {
  const std::string name = name_of_file(rank_, ".json");
  check_written(write_file(timeline_folder_, name,
                           [this](std::ostream& out) { timeline_->write(out, rank_, ahead_); }),
                "TIMELINE", timeline_folder_, name);
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
  const auto write = [&](const std::string& suffix, const std::string& text) {
    const std::string name = name_of_file(rank_, suffix);
    check_written(write_file(counters_folder_, name, [&](std::ostream& out) { out << text; }),
                  "COUNTERS", counters_folder_, name);
  };
  write(".json", counters_json(counters, links, rank_));
  write(".prom", counters_prometheus(counters, links, rank_));
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

void Recorder::write() {
  if (timeline_) write_timeline();
  if (!counters_folder_.empty()) write_counters();
}

}  // namespace fastgpu::comm
