// A look at this node: processes, terminals, GPUs.
#pragma once

#include <filesystem>

#include "agent/guard/idle.hpp"

namespace fastgpu::agent {

/// Looks at this node. Leaves out inaccessible parts (processes of others, GPUs without
/// nvidia-smi). Takes as long as nvidia-smi, at most five seconds.
NodeActivity observe_node();

/// Returns the directory of guards' files, below home.
std::filesystem::path guard_directory();

/// Records that a fastgpu has called; for nodes that are guarded.
void note_contact() noexcept;

}  // namespace fastgpu::agent
