// Steps as plans put them together, and what stands around those that install packages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envs/drivers/package_manager.hpp"
#include "envs/drivers/plan.hpp"

namespace fastgpu::envs {

/// Done, or to do by those commands.
Step make_step(std::string title, bool done, std::vector<Argv> commands, std::string note = {});

/// Puts the files there that are not as they should be. Absent where there are none, or where some
/// are missing and not `needed`.
std::optional<Step> files_step(std::string title, const std::vector<NodeFile>& files,
                               const NodeFacts& facts, bool needed);

/// Before `body` what an installation that was cut off has left is put right, and around it the
/// system does not install by itself; nothing of it where nothing of `body` is to do.
Plan framed(std::vector<Step> body, const NodeFacts& facts, const PackageManager& manager);

}  // namespace fastgpu::envs
