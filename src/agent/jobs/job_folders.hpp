// The folders of jobs on this node: finds and removes those of ended jobs. `job-folders` and
// `job-discard` do so for a user's fastgpu.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "agent/protocol/job_folder.hpp"
#include "agent/protocol/plan.hpp"

namespace fastgpu::agent {

/// Returns the plan of the supervisor or of the ranks; absent if the folder has neither.
std::optional<JobPlan> any_plan(const std::filesystem::path& directory);

/// Returns true if the supervisor of the job is alive.
bool has_supervisor(const std::filesystem::path& directory);

/// Returns true if a rank of the job has started here.
bool has_begun(const std::filesystem::path& directory);

bool all_ranks_have_ended(const std::filesystem::path& directory, const JobPlan& ranks);

/// Returns the number of ranks that have ended, in this home directory.
std::size_t count_ended_ranks(const std::filesystem::path& directory);

/// Removes the variables of an ended job, which may be secrets, and the secret of its ranks. Never
/// throws: a folder that cannot be written stays as it is.
void drop_secrets(const std::filesystem::path& directory) noexcept;

/// Returns the directory for the shared memory that MPI libraries use among the ranks of this node.
std::filesystem::path shared_memory_of(const std::string& job_id);
/// Removes it, with what killed ranks have left there. Never throws.
void drop_shared_memory(const std::string& job_id) noexcept;

/// Returns true if tidy_jobs() may have something to do beside the job `starting`: there are too
/// many folders, an old one, or one with secrets.
bool may_be_untidy(const JobRetention& retention, const std::string& starting);

/// Removes the secrets of all jobs that have ended here. Removes the folders that `retention` does
/// not keep, with the files copied for those jobs. A job that has a process on this node has not
/// ended. A job that was never started counts as ended after a day. Continues in a separate
/// process, because the removal of large folders takes time. The job `starting` has not ended.
void tidy_jobs(const JobRetention& retention, const std::string& starting = {});

}  // namespace fastgpu::agent
