// How busy a node was while a job ran there: one line a sample, in the job's folder. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/node_usage.hpp"
#include "agent/protocol/records.hpp"

namespace fastgpu::agent {

/// The average of a node's usage over a time.
struct UsageSample {
  std::int64_t ended = 0;             ///< Nanoseconds since 1970 by the node's clock.
  std::chrono::milliseconds span{0};  ///< The time that it covers.
  NodeUsage usage{};
};

/// Returns a sample as a line: "ENDED SPAN BUSY USED MEMORY RECEIVED SENT [GPU:PERCENT:USED:MEMORY
/// ...]", with BUSY in thousandths, PERCENT "-" for a GPU that does not report it, and bytes.
std::string sample_line(const UsageSample& sample);

/// Returns the samples in a text. Leaves out lines without one: the last one may be incomplete,
/// and a disk may have been full.
std::vector<UsageSample> parse_samples(std::string_view text);

/// Returns half as many samples, each the average of two neighbours, weighted by their spans. An
/// odd last one stays.
std::vector<UsageSample> halved(std::span<const UsageSample> samples);

/// What a node has kept of the usage during a job, and of what the ranks there have written.
struct JobUsage {
  /// The last counters of a rank, as libfastgpu_comm has written them.
  struct Counters {
    int rank = 0;
    std::string json{};
  };
  /// A timeline that libfastgpu_comm has written, which stays on the node.
  struct Timeline {
    int rank = 0;
    std::string path{};
    std::uint64_t size = 0;
  };
  std::vector<UsageSample> samples{};
  std::vector<Counters> counters{};
  std::vector<Timeline> timelines{};
};

/// Returns it as the answer of `job-usage`.
std::string to_text(const JobUsage& usage);
/// Parses that answer. Throws remote for another text.
JobUsage parse_job_usage(std::string_view text);

}  // namespace fastgpu::agent
