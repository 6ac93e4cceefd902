// A look at this node: processes, terminals, GPUs.
#pragma once

#include <filesystem>

#include "agent/idle.hpp"

namespace fastgpu::agent {

/// What cannot be looked at (processes of others, GPUs without nvidia-smi) is left out. Takes as
/// long as nvidia-smi, at most five seconds.
NodeSight look_at_node();

/// The files of guards, below home.
std::filesystem::path guard_directory();

/// Notes that a fastgpu has called; for nodes that are guarded.
void note_contact() noexcept;

}  // namespace fastgpu::agent
