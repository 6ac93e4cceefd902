// The common part of the commands on environments: the cluster, access to its nodes, and the report
// of results.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/env/prefix_queue.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "envs/environments/installation.hpp"
#include "envs/environments/record.hpp"
#include "state/lock.hpp"
#include "state/scratch.hpp"

namespace fastgpu::cli {

/// The values of --cluster (-c) and --prefix.
struct EnvTarget {
  std::string cluster;
  std::string prefix;
};

/// Adds --cluster and --prefix, which must be an absolute path. Returns --cluster.
Argument& describe_env_target(Arguments& arguments, EnvTarget& target);
/// Adds NAME, which is required, and the flags of describe_env_target().
void describe_named_environment(Arguments& arguments, std::string& name, EnvTarget& target);

/// The running nodes of a cluster, and the record of its environments.
class EnvCluster {
 public:
  EnvCluster(Context& context, const EnvTarget& target, Absent absent = Absent::refused);
  EnvCluster(Context& context, RemoteTarget target);

  /// Locks the cluster for changes until the object ends, and reads the record again. Throws
  /// conflict if another process has the lock.
  void lock();

  const RemoteTarget& target() const noexcept { return target_; }
  const std::vector<ssh::Host>& hosts() const noexcept { return target_.hosts; }
  envs::NodeAccess access() const;

  /// Returns the prefix for an environment: the one given by the user, else the recorded one, else
  /// "" for the default.
  std::string prefix_for(const std::string& name) const;
  /// Returns the prefixes to search: the one given by the user, else "" for the default, then the
  /// used ones on record, and those that nodes report.
  PrefixQueue prefixes() const;
  /// Returns the prefix of an environment. If it is not recorded, asks the nodes, under prefixes(),
  /// and records their answer: the environment may come from an image or from another machine.
  /// Throws not_found if no node has it.
  std::string find(const std::string& name);
  /// Throws not_found, with a command that helps, if the environment is incomplete on one of
  /// `nodes`. Asks only the nodes that are not recorded as complete.
  void require_on(const std::string& name, std::span<const NodeName> nodes);
  envs::EnvironmentsRecord& record() noexcept { return record_; }
  void store_record() const;
  /// Records that the given prefix is in use, so that `env remove --all` cleans it even after a
  /// creation that fails. Does nothing without a given prefix.
  void note_given_prefix();
  /// Records the prefix of the environment and the nodes on which it is complete.
  void note_made(const std::string& name, const envs::InstallationResult& result);

  /// Runs the agent with `words` on every node.
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

/// A complete and current build of an environment on a node.
struct EnvBuild {
  ssh::Host host;
  std::string version;
  std::string manifest;
  std::filesystem::path directory;
};

/// Returns the builds on all nodes that have one, in the order of the nodes.
std::vector<EnvBuild> find_builds(const EnvCluster& cluster, const std::string& name);
/// Returns the same builds. Throws not_found if no node has one.
std::vector<EnvBuild> complete_builds(const EnvCluster& cluster, const std::string& name);

/// Shows one line per failed node. Returns the exit code of the first failure, or 0 if there is
/// none.
int report_failures(Context& context, const std::vector<std::pair<NodeName, Error>>& failures);

template <class T>
int report(Context& context, const std::vector<HostResult<T>>& results) {
  std::vector<std::pair<NodeName, Error>> failures;
  for (const auto& result : results)
    if (!result.ok()) failures.emplace_back(result.host, result.error());
  return report_failures(context, failures);
}

}  // namespace fastgpu::cli
