// Drivers and packages on nodes: what the commands that bring them there share.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/context.hpp"
#include "envs/drivers/install.hpp"

namespace fastgpu::cli {

/// --repository, --repository-key.
struct DriverSource {
  std::string mirror;
  std::string key_file;
};
void describe_driver_source(Arguments& arguments, DriverSource& source);
/// Throws not_found or usage where the key's file is none.
void apply(const DriverSource& source, envs::Recipe& recipe);

/// Those hosts, reached as the settings say. `hosts` is borrowed.
envs::DriverNodes driver_nodes(Context& context, std::span<const ssh::Host> hosts);

/// envs::install_on, each step shown once, however many nodes begin it together.
std::vector<HostResult<envs::DriverOutcome>> bring_to_goal(Context& context,
                                                           const envs::DriverNodes& nodes,
                                                           const envs::NodeGoal& goal,
                                                           const envs::InstallOptions& how);

/// For --assume-gpu; empty where that is.
std::function<envs::NodeFacts(envs::NodeFacts)> assumption(const std::string& gpus);

}  // namespace fastgpu::cli
