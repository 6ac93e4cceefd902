// The data for the files and checks on the nodes before a job starts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "launcher/access.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// One node of a job, with the data that the job needs.
struct JobNode {
  NodeRanks ranks;
  Peer peer;
};

struct JobFilesRequest {
  std::string id;
  JobSpec spec;
  std::vector<JobNode> nodes;  ///< Sorted by rank.
  ClusterAccess access;
  Secret communicator_secret;
  std::chrono::milliseconds lease{30'000};
  std::string owner{};  ///< The mark of this state directory; empty for none.
};

}  // namespace fastgpu::launcher
