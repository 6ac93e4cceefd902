// The common part of the commands that install drivers and packages on nodes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/program/app.hpp"
#include "cli/program/context.hpp"
#include "envs/drivers/install.hpp"

namespace fastgpu::cli {

/// The values of --repository and --repository-key.
struct DriverSource {
  std::string mirror;
  std::string key_file;
};
void describe_driver_source(Arguments& arguments, DriverSource& source);
/// Sets the recipe's repository and key. Throws not_found or usage for a bad key file.
void apply(const DriverSource& source, envs::Recipe& recipe);

/// Returns the hosts with the connection settings of the user. `hosts` must outlive the result.
envs::DriverNodes driver_nodes(Context& context, std::span<const ssh::Host> hosts);

/// Calls envs::install_on() and shows its steps. A step that several nodes begin at the same time
/// is shown once.
std::vector<HostResult<envs::DriverOutcome>> bring_to_goal(Context& context,
                                                           const envs::DriverNodes& nodes,
                                                           const envs::NodeGoal& goal,
                                                           const envs::DriverInstallOptions& how);

/// Returns a function that replaces a node's GPUs as --assume-gpu demands; empty if the flag is
/// absent.
std::function<envs::NodeFacts(envs::NodeFacts)> assumption(const std::string& gpus);

}  // namespace fastgpu::cli
