// Finds the failure on a node that ended a job in the output of Slurm's programs, which the state
// of the job does not name. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu::launcher {

enum class SlurmFaultKind : std::uint8_t {
  prolog,       ///< The site's Prolog, after which Slurm uses the node no more.
  task_prolog,  ///< The site's TaskProlog, which runs before each rank.
  launch,       ///< The ranks of the node were not started.
  node,         ///< The node failed, or was set down.
};

/// A failure on a node. Slurm then ends the ranks of the other nodes by signals.
struct SlurmFault {
  SlurmFaultKind kind = SlurmFaultKind::launch;
  std::string node{};  ///< Slurm's name for it; empty if it is the node of the batch script.
  std::string why{};   ///< Slurm's words; may be empty.
};

/// Returns the first failure on a node in `words`, the stderr of a batch script.
std::optional<SlurmFault> fault_named_by_slurm(std::string_view words);

/// Returns the failure of a prolog in the lines "NodeName=NODE Reason=TEXT [USER@TIME]" of nodes
/// that Slurm has taken out of use. A reason of before `started` is not that of the job. Both times
/// are those of scontrol: "2026-11-29T21:26:51".
std::optional<SlurmFault> fault_of_nodes(std::string_view lines, std::string_view started);

}  // namespace fastgpu::launcher
