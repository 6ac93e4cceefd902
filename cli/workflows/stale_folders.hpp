// Folders of jobs on nodes that nothing needs any more.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"
#include "launcher/job_folders.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

/// The jobs on record here, by their ids.
struct KnownJobs {
  std::set<std::string> all{};
  std::set<std::string> running{};  ///< Those that have not ended.
};

/// The folders on a node that are removed.
struct StaleFolders {
  std::vector<agent::JobFolder> of_no_job{};  ///< Their jobs are on record no more.
  std::vector<agent::JobFolder> outdated{};   ///< The settings keep newer ones.
};

/// Decides which folders that this state directory has made on a node are removed: those of jobs
/// that have ended and are in no record, or that `retention` does not keep. The folders of an
/// array, and of the runs of a job, all stay while one of its jobs runs. Pure.
StaleFolders stale_folders(const agent::JobFolders& found, const KnownJobs& known,
                           const agent::JobRetention& retention);

/// The result of a look at the nodes of all clusters.
struct FolderCleaning {
  std::vector<provision::Settled> settled{};  ///< One for each node with such folders.
  struct Skipped {
    std::string cluster;
    std::string node;
    std::string why;
  };
  std::vector<Skipped> skipped{};  ///< The nodes that could not be asked.
};

enum class Cleaning : std::uint8_t { look, remove };

/// Finds, and removes, stale folders on the running nodes of all clusters on record. Does not
/// connect to any if this state directory has never started a job. Throws local if there is no
/// agent to install, and interrupted.
FolderCleaning clean_folders(Services& services, Cleaning cleaning);

}  // namespace fastgpu::cli
