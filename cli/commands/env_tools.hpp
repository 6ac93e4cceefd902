// What the commands about environments share: the cluster, the way to its nodes, results by node.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/remote_output.hpp"
#include "cli/context.hpp"
#include "envs/environments/installation.hpp"
#include "envs/environments/record.hpp"
#include "state/lock.hpp"
#include "state/scratch.hpp"

namespace fastgpu::cli {

/// --cluster, -c; and --prefix.
struct EnvTarget {
  std::string cluster;
  std::string prefix;
};
void describe_env_target(Arguments& arguments, EnvTarget& target);

/// The running nodes of a cluster, with what is remembered of its environments.
class EnvCluster {
 public:
  EnvCluster(Context& context, const EnvTarget& target);

  /// Nobody else changes the cluster from here on. Throws conflict where somebody does.
  void lock();

  const RemoteTarget& target() const noexcept { return target_; }
  const std::vector<ssh::Host>& hosts() const noexcept { return target_.hosts; }
  envs::NodeAccess access() const;

  /// Where environments lie: as given, else where that one lies, else "" for the usual place.
  std::string prefix_for(const std::string& name) const;
  envs::EnvironmentsRecord& record() noexcept { return record_; }
  void store_record() const;

  /// Calls the agent on every node.
  std::vector<HostResult<agent::Records>> call(const std::vector<std::string>& words) const;

 private:
  std::filesystem::path directory() const;

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

/// Of every node that has it, in their order. Throws not_found where none has.
std::vector<EnvBuild> complete_builds(EnvCluster& cluster, const std::string& name);

/// Reports what failed, a line a node; returns the exit code of the first failure, 0 for none.
int report_failures(Context& context, const std::vector<std::pair<NodeName, Error>>& failures);

template <class T>
int report(Context& context, const std::vector<HostResult<T>>& results) {
  std::vector<std::pair<NodeName, Error>> failures;
  for (const auto& result : results)
    if (!result.ok()) failures.emplace_back(result.host, result.error());
  return report_failures(context, failures);
}

}  // namespace fastgpu::cli
