// What an environment needs on its nodes apart from itself: packages of the distribution, a driver,
// CUDA, CANN.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/env/node_goals.hpp"
#include "cli/commands/node/sudo_password.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::cli {

struct NeedsOptions {
  DriverSource source;
  SudoPasswordOptions sudo;
  std::string assumed_gpus;  ///< The GPUs that the plan assumes; empty for the real ones.
};
/// Adds --repository, --repository-key, --ask-sudo-password, --sudo-password-file and --assume-gpu.
void describe_needs_options(Arguments& arguments, NeedsOptions& options);

/// The titles of the steps that each node needs, by its name, and the nodes for which they are
/// impossible (`failures`).
struct NeededSteps {
  std::vector<ssh::Host> hosts;
  std::map<std::string, std::vector<std::string>> steps;
  std::vector<std::pair<NodeName, Error>> failures;
};
NeededSteps steps_for_needs(Context& context, const EnvCluster& cluster,
                            const envs::NodeNeeds& needs, const NeedsOptions& options);

struct MetNeeds {
  std::vector<ssh::Host> hosts;  ///< The nodes that have everything now.
  std::map<std::string, std::vector<std::string>> did;
  std::vector<std::pair<NodeName, Error>> failures;
};
/// Installs the needs. A node that must be rebooted counts as a failure, with advice. Throws as
/// envs::fetch_keys(), envs::check_recipe() and sudo_password() do, and if GPUs are assumed.
MetNeeds meet_needs(Context& context, const EnvCluster& cluster, const envs::NodeNeeds& needs,
                    const NeedsOptions& options);

}  // namespace fastgpu::cli
