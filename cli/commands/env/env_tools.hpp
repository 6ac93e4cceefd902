// The common part of the commands about environments: the cluster, the way to its nodes, results by
// node.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/node/remote_output.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "envs/environments/installation.hpp"
#include "envs/environments/record.hpp"
#include "state/lock.hpp"
#include "state/scratch.hpp"

namespace fastgpu::cli {

/// The values of --cluster, -c; and --prefix.
struct EnvTarget {
  std::string cluster;
  std::string prefix;
};

/// Adds --cluster, which is returned, and --prefix.
Argument& describe_env_target(Arguments& arguments, EnvTarget& target);
/// Adds NAME, which is required, and the flags of describe_env_target().
void describe_named_environment(Arguments& arguments, std::string& name, EnvTarget& target);

/// The running nodes of a cluster, with the record of its environments.
class EnvCluster {
 public:
  EnvCluster(Context& context, const EnvTarget& target);
  EnvCluster(Context& context, RemoteTarget target);

  /// Keeps others from changing the cluster from here on. Throws conflict if another process does.
  void lock();

  const RemoteTarget& target() const noexcept { return target_; }
  const std::vector<ssh::Host>& hosts() const noexcept { return target_.hosts; }
  envs::NodeAccess access() const;

  /// Returns the prefix of environments: the given one, else that environment's, else "" for the
  /// usual place.
  std::string prefix_for(const std::string& name) const;
  /// Returns that environment's place. If it is not recorded the nodes are asked, and their answer
  /// is recorded: an image or another machine may have brought it. Throws not_found if no node has
  /// any of it.
  std::string find(const std::string& name);
  /// Throws not_found, with the command that helps, if one of these nodes does not have it
  /// complete. Nodes that are known to have it are not asked.
  void require_on(const std::string& name, std::span<const NodeName> nodes);
  envs::EnvironmentsRecord& record() noexcept { return record_; }
  void store_record() const;
  /// Records its present place, and the nodes on which it is complete.
  void note_made(const std::string& name, const envs::InstallationResult& result);

  /// Calls the agent on every node.
  std::vector<HostResult<agent::Records>> call(const std::vector<std::string>& words) const;

 private:
  std::filesystem::path directory() const;
  struct Answers {
    std::vector<envs::MachineStatus> found;
    std::vector<Error> failures;
  };
  Answers ask(const std::string& prefix, std::span<const state::Node> nodes) const;

  Context& context_;
  std::string given_prefix_;
  RemoteTarget target_;
  envs::EnvironmentsRecord record_;
  std::optional<state::ClusterLock> lock_;
};

/// A build of an environment that is complete on a node, and in use there.
struct EnvBuild {
  ssh::Host host;
  std::string version;
  std::string manifest;
  std::filesystem::path directory;
};

/// Returns the builds of every node that has it, in their order.
std::vector<EnvBuild> find_builds(const EnvCluster& cluster, const std::string& name);
/// Returns these builds. Throws not_found if no node has it.
std::vector<EnvBuild> complete_builds(const EnvCluster& cluster, const std::string& name);

/// Reports the failures, a line a node; returns the exit code of the first failure, 0 for none.
int report_failures(Context& context, const std::vector<std::pair<NodeName, Error>>& failures);

template <class T>
int report(Context& context, const std::vector<HostResult<T>>& results) {
  std::vector<std::pair<NodeName, Error>> failures;
  for (const auto& result : results)
    if (!result.ok()) failures.emplace_back(result.host, result.error());
  return report_failures(context, failures);
}

}  // namespace fastgpu::cli
