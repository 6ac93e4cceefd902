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

/// The values of --repository, --repository-key.
struct DriverSource {
  std::string mirror;
  std::string key_file;
};
void describe_driver_source(Arguments& arguments, DriverSource& source);
/// Sets the recipe's source. Throws not_found or usage for an invalid key file.
void apply(const DriverSource& source, envs::Recipe& recipe);

/// Returns those hosts, with the settings' way to them. `hosts` is borrowed.
envs::DriverNodes driver_nodes(Context& context, std::span<const ssh::Host> hosts);

/// Calls envs::install_on, and shows each step once, for any number of nodes that begin it
/// together.
std::vector<HostResult<envs::DriverOutcome>> bring_to_goal(Context& context,
                                                           const envs::DriverNodes& nodes,
                                                           const envs::NodeGoal& goal,
                                                           const envs::InstallOptions& how);

/// Returns the function for --assume-gpu; empty if the flag is.
std::function<envs::NodeFacts(envs::NodeFacts)> assumption(const std::string& gpus);

}  // namespace fastgpu::cli
