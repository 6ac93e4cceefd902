// Observes this node: processes, terminals, GPUs.
#pragma once

#include <filesystem>

#include "agent/guard/idle.hpp"

namespace fastgpu::agent {

/// Observes this node. Leaves out what is not accessible: processes of other users, and GPUs
/// without nvidia-smi. Takes as long as nvidia-smi, five seconds at most.
NodeActivity observe_node();

/// Returns the directory of the guard's files, relative to the home directory.
std::filesystem::path guard_directory();

/// Records that a fastgpu has called the agent, if this node is guarded.
void note_contact() noexcept;

}  // namespace fastgpu::agent
