// The folders of jobs on a node, and which of them may go. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The place of a job's folder on a node.
enum class FolderPlace : std::uint8_t {
  usual,    ///< The home directory, unless the node knows that others share it.
  own_disk  ///< The disk of the node.
};

/// The file in a job's folder with the mark of the state directory that has started the job.
inline constexpr const char* kJobOwner = "owner";

/// The folder of a run of a job.
struct JobFolder {
  std::string name{};  ///< The name of the run: "train-1", "train-1.r2", "sweep-1.3".
  /// Nanoseconds since 1970 by the node's clock; absent if the job runs or may be about to start.
  std::optional<std::int64_t> ended{};

  friend bool operator==(const JobFolder&, const JobFolder&) = default;
};

/// The answer of `job-folders`.
struct JobFolders {
  std::int64_t now = 0;  ///< The time on the node.
  std::vector<JobFolder> folders{};
};

/// The limits on keeping ended jobs.
struct JobRetention {
  /// The number of newest jobs that are kept. The jobs of an array count as one, and so do the runs
  /// of a job with restarts.
  std::size_t count = 0;
  std::chrono::seconds age{0};  ///< Jobs that ended longer ago than this are removed anyway.
};

/// Parses "COUNT:SECONDS". Throws usage.
JobRetention parse_retention(const std::string& text);

/// Returns the job or array that a folder is counted with: "sweep-1.3" and "sweep-1.4.r1" are of
/// the array sweep-1, "train-1.r2" is a run of the job train-1.
std::string counted_as(const std::string& folder);

/// Returns the ended jobs among `folders` that are beyond the count or older than the age, the
/// newest first. An array that is within the count keeps all of its jobs.
std::vector<JobFolder> outdated(std::vector<JobFolder> folders, const JobRetention& retention,
                                std::int64_t now);

std::string to_text(const JobFolders& folders);
JobFolders parse_job_folders(std::string_view text);  ///< Throws remote.

/// Returns the word by which `job-discard` gets the folder of a job that has ended: a folder whose
/// job has another end is kept.
std::string discard_word(const JobFolder& folder);
/// Parses such a word. Throws usage.
JobFolder parse_discard_word(const std::string& word);

}  // namespace fastgpu::agent
