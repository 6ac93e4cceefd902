// The places of the folders of jobs. They are in the home directory. Where hosts share that, each
// has a folder of its own for a job, on its own disk. A link in the home directory leads there,
// which is the same on all hosts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "agent/protocol/job_folder.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

inline constexpr const char* kJobs = ".fastgpu/jobs";  ///< Relative to the home directory.

/// The file that names the place of folders on the disk of each host, relative to the home
/// directory. It is there once hosts of a job were found to share that.
inline constexpr const char* kOwnPlace = ".fastgpu/own-place";

enum class NewFolder : std::uint8_t {
  made,
  taken,  ///< Another job has it.
  shared  ///< Another host has made it for this very job.
};

/// Makes the folder of a new job. `secret` is the content of the job's file kCommSecret, which
/// every start makes anew. Throws conflict if hosts of the job share their own disks, too; denied
/// if the place there belongs to another user.
NewFolder make_job_folder(const std::filesystem::path& folder, const std::string& secret,
                          FolderPlace place);

/// Makes the folder of a job that may not have begun here, unless it is there.
void require_job_folder(const std::filesystem::path& folder);

/// Returns the folders of all jobs on this host, in any order.
std::vector<std::filesystem::path> job_folders_here();

/// Returns the folder of a job as it is on this host: on its own disk, if it is there. Another host
/// may have removed the link that leads there.
std::filesystem::path folder_here(const std::filesystem::path& folder);

/// Locks a folder while a job runs: programs that tidy up /var/tmp, such as systemd-tmpfiles, leave
/// what is locked. Empty if the folder cannot be locked.
UniqueFd lock_folder(const std::filesystem::path& folder) noexcept;

/// Removes the folder of a job on this host, and the link that leads to it. Returns why it could
/// not.
std::error_code remove_job_folder(const std::filesystem::path& folder);

/// Removes the folder `here`, one of job_folders_here(), and leaves a link to other hosts: they may
/// have folders of the same job. Never throws.
void remove_folder_here(const std::filesystem::path& here) noexcept;

/// Removes links that have led nowhere on this host for a long time. Never throws.
void remove_old_links() noexcept;

}  // namespace fastgpu::agent
