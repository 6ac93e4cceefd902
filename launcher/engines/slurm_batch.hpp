// The batch script of a job in Slurm. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// The home directory of the nodes of Slurm: shared with the node that submits, or one for each.
/// Nodes on which fastgpu has set Slurm up have one each.
enum class SlurmHome : std::uint8_t { shared, separate };

/// Returns the batch script: it starts one process for each rank by srun, a shell that runs
/// `rank_command`, and records a success where those that follow the job find it. All
/// paths in it are relative to the home directory. The texts of `spec.slurm` are words. Without a
/// shared home directory, the ranks get the addresses of nodes instead of their names, and the
/// script as their input: the line agent::carried_files() is to be added to it. `comment` is
/// a word by which the job is found in Slurm's queue; empty for none. `start_command` runs before
/// the ranks start: see NodeCommands::slurm_start(); empty for none.
std::string slurm_batch_script(const std::string& job_id, const JobSpec& spec,
                               const std::string& rank_command, SlurmHome home = SlurmHome::shared,
                               const std::string& comment = {},
                               const std::string& start_command = {});

/// Returns the variables of the user and those that depend on no node, for the file of the ranks.
std::vector<std::string> slurm_rank_variables(const JobSpec& spec);

}  // namespace fastgpu::launcher
