// The needs of an environment on its nodes beside itself: packages of the distribution, driver,
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
  std::string assumed_gpus;  ///< GPUs that the plan assumes.
};
/// Adds --repository, --repository-key, --ask-sudo-password, --sudo-password-file, --assume-gpu.
void describe_needs_options(Arguments& arguments, NeedsOptions& options);

/// The titles of the necessary steps on each node for which they are possible, by its name; the
/// others are in `failures`.
struct NeededSteps {
  std::vector<ssh::Host> hosts;
  std::map<std::string, std::vector<std::string>> steps;
  std::vector<std::pair<NodeName, Error>> failures;
};
NeededSteps steps_for_needs(Context& context, const EnvCluster& cluster,
                            const envs::NodeNeeds& needs, const NeedsOptions& options);

struct MetNeeds {
  std::vector<ssh::Host> hosts;  ///< The nodes that have all of it now.
  std::map<std::string, std::vector<std::string>> did;
  std::vector<std::pair<NodeName, Error>> failures;
};
/// Meets the needs. A node that would have to be rebooted is a failure with advice. Throws as
/// envs::fetch_keys, envs::check_recipe and sudo_password, and if GPUs are assumed.
MetNeeds meet_needs(Context& context, const EnvCluster& cluster, const envs::NodeNeeds& needs,
                    const NeedsOptions& options);

}  // namespace fastgpu::cli
