// The engine mpirun: starts, follows and stops jobs on a cluster, and reads what they left.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/contact.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/job_files.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// A node of the cluster, with the data that jobs need.
struct ClusterNode {
  ssh::Host host;  ///< The address, user and keys for this machine.
  Peer peer;       ///< The address, user and keys for the other nodes.
};

/// Whether the start of a job checks that its nodes reach each other.
enum class NetworkCheck : std::uint8_t { on, off };

struct RunnerOptions {
  remote::AgentProgram agent;  ///< Installed on nodes that lack it.
  std::chrono::milliseconds lease{30'000};
  std::chrono::milliseconds lost_after = kLostAfter;
  Retention retention{};
  /// Returns the mark of this state directory, for the folder of a job that starts.
  std::function<std::string()> owner = [] { return std::string(); };
  NetworkCheck network_check = NetworkCheck::on;
};

/// Returns the engine for the nodes of a cluster: mpirun, under a supervisor on a job's first node.
/// Takes all `nodes` of the cluster; a job uses those of its placement. Borrows `client`.
std::unique_ptr<JobEngine> make_mpirun_engine(ssh::Client& client, std::vector<ClusterNode> nodes,
                                              ClusterAccess access, RunnerOptions options);

}  // namespace fastgpu::launcher
