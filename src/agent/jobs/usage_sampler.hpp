// Samples how busy this node is while a rank runs here, for the report of the job.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/protocol/samples.hpp"
#include "base/unique_fd.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {

/// The samples of one job on one node, in memory and in a file that stays small: with
/// kMostSamples of them each two become one, and the next ones cover twice the time.
class SampleFile {
 public:
  static constexpr std::size_t kMostSamples = 3'600;
  static constexpr std::chrono::milliseconds kShortestSpan{1'000};

  /// Goes on with the samples that are in the file.
  explicit SampleFile(std::filesystem::path path);

  /// Adds a sample. Throws as open_for_append() and write_all() if it cannot be written; the file
  /// then lacks it.
  void add(const UsageSample& sample);

  /// Returns the time that the next sample is to cover.
  std::chrono::milliseconds span() const noexcept { return span_; }

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  std::vector<UsageSample> samples_;
  std::chrono::milliseconds span_ = kShortestSpan;
};

/// What nvidia-smi prints about the GPUs of this node every few seconds, as long as this object
/// lives. Without nvidia-smi there are no GPUs.
class GpuReadings {
 public:
  GpuReadings();

  /// Returns the last readings of all GPUs, as lines "gpu INDEX PERCENT USED-MIB MEMORY-MIB".
  std::string lines();

 private:
  void read_output();

  std::optional<process::Child> program_;
  std::string unread_;
  std::vector<std::string> last_;  ///< By the index of the GPU.
};

/// Samples while it lives. Of the ranks of a job on a node one samples; another one takes over when
/// that one ends.
class UsageSampler {
 public:
  explicit UsageSampler(const std::filesystem::path& job_directory);

  /// Returns for how many milliseconds poll() may wait.
  int wait() const noexcept;
  /// Takes a sample if it is time to. Never throws.
  void look() noexcept;

 private:
  using SteadyClock = std::chrono::steady_clock;
  void take_over();
  void sample();

  std::filesystem::path path_;
  std::optional<UniqueFd> lock_;  ///< Present while this process samples.
  std::optional<SampleFile> file_;
  std::optional<GpuReadings> gpus_;
  std::optional<UsageCounters> last_;
  SteadyClock::time_point sampled_at_{};
  SteadyClock::time_point next_;  ///< A second after the start: short jobs start no nvidia-smi.
};

/// Returns the directory of the samples in a job's folder, and the file of this node in it: nodes
/// may share their home directory.
std::filesystem::path samples_file(const std::filesystem::path& job_directory);

/// Returns what this node has counted since its start. `gpu_lines` are those of GpuReadings.
UsageCounters read_counters(const std::string& gpu_lines);

}  // namespace fastgpu::agent
