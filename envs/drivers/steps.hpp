// The parts of plans, and the frame around steps that install packages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envs/drivers/package_manager.hpp"
#include "envs/drivers/step.hpp"

namespace fastgpu::envs {

/// Returns a step that is done, or to do by those commands.
DriverStep make_step(std::string title, bool done, std::vector<Argv> commands,
                     std::string note = {});

/// Writes the files that differ from their wanted content. Absent without such files, or if
/// some are missing and not `needed`.
std::optional<DriverStep> files_step(std::string title, const std::vector<NodeFile>& files,
                                     const NodeFacts& facts, bool needed);

/// Adds a repair of an interrupted installation before `body`, and around it a hold on the system's
/// own installations. Adds neither if `body` has no step to do.
DriverPlan framed(std::vector<DriverStep> body, const NodeFacts& facts,
                  const PackageManager& manager);

}  // namespace fastgpu::envs
