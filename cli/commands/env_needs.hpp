// What an environment needs of its nodes beside itself: packages of the distribution, driver, CUDA,
// CANN.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/env_tools.hpp"
#include "cli/commands/node_goals.hpp"
#include "cli/commands/sudo_password.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::cli {

struct NeedsOptions {
  DriverSource source;
  SudoPasswordOptions sudo;
  std::string assumed_gpus;  ///< Plan as if there were these.
};
/// --repository, --repository-key, --ask-sudo-password, --sudo-password-file, --assume-gpu.
void describe_needs_options(Arguments& arguments, NeedsOptions& options);

/// The titles of what is to be done on each node that can be brought there, by its name; the others
/// are in `failures`.
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
/// A node that would have to be rebooted is a failure that says how. Throws as envs::fetch_keys,
/// envs::check_recipe and sudo_password, and where GPUs are assumed.
MetNeeds meet_needs(Context& context, const EnvCluster& cluster, const envs::NodeNeeds& needs,
                    const NeedsOptions& options);

}  // namespace fastgpu::cli
