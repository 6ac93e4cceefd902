// The folders of jobs on this node: the ended ones, and their removal.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/protocol/plan.hpp"

namespace fastgpu::agent {

inline constexpr const char* kJobs = ".fastgpu/jobs";  ///< The path below home.

/// Returns the supervisor's plan, or the ranks'; absent if the folder has neither.
std::optional<Plan> any_plan(const std::filesystem::path& directory);

/// Returns whether the supervisor of that job lives.
bool has_supervisor(const std::filesystem::path& directory);

bool all_ranks_have_ended(const std::filesystem::path& directory, const Plan& ranks);

/// Removes the variables of an ended job, which may be secrets, and the secret of its ranks. Never
/// throws: a folder that cannot be written to stays unchanged.
void drop_secrets(const std::filesystem::path& directory) noexcept;

/// The limits for keeping ended jobs.
struct Retention {
  std::size_t count = 0;        ///< The number of newest jobs to keep,
  std::chrono::seconds age{0};  ///< if they ended within this time.
};

/// Reads "COUNT:SECONDS". Throws usage.
Retention parse_retention(const std::string& text);

/// An ended job, newest first in lists of them.
struct EndedJob {
  std::filesystem::path directory;
  std::filesystem::file_time_type ended;
};

/// Returns the folders to remove: beyond the count, or older than the age. Pure.
std::vector<EndedJob> outdated(std::vector<EndedJob> jobs, const Retention& retention,
                               std::filesystem::file_time_type now);

/// Removes the secrets of all jobs that have ended here, and the folders that `retention` does not
/// keep, with the files copied for those jobs. A job with a process anywhere on this node has not
/// ended; one that was never started counts as ended after a day. Continues in a process of its
/// own, as removing large folders takes time.
void tidy_jobs(const Retention& retention);

}  // namespace fastgpu::agent
