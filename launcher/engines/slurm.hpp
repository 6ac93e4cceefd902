// Slurm: the batch script of a job, and what Slurm reports about it. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/status.hpp"
#include "launcher/job.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// Returns the text if Slurm reads it as one word of a batch script's options: letters, digits,
/// _-.,:@+=/ and the marks in `more`. Throws ErrorKind::usage otherwise.
std::string checked_slurm_word(const std::string& text, std::string_view more = {});

/// Returns the number of ranks: -np, or the ranks of each node times the nodes. Throws
/// ErrorKind::usage if the job has neither.
int slurm_ranks(const JobSpec& spec);

/// The home directory of the nodes of Slurm: shared with the node that submits, or one for each.
/// Nodes on which fastgpu has set Slurm up have one each.
enum class SlurmHome : std::uint8_t { shared, separate };

/// Returns the batch script: it starts one process for each rank by srun, a shell that runs
/// `rank_command`, and records a success where those that follow the job find it. All
/// paths in it are relative to the home directory. The texts of `spec.slurm` are words. Without a
/// shared home directory, the ranks get the addresses of nodes instead of their names. `comment` is
/// a word by which the job is found in Slurm's queue; empty for none. `start_command` runs before
/// the ranks start: see NodeCommands::slurm_start(); empty for none.
std::string slurm_batch_script(const std::string& job_id, const JobSpec& spec,
                               const std::string& rank_command, SlurmHome home = SlurmHome::shared,
                               const std::string& comment = {},
                               const std::string& start_command = {});

/// Returns the variables of the user and those that depend on no node, for the file of the ranks.
std::vector<std::string> slurm_rank_variables(const JobSpec& spec);

/// Returns Slurm's number of the job from the answer of `sbatch --parsable`: "12" or "12;cluster".
/// Throws remote for anything else.
std::string parse_sbatch(std::string_view text);

enum class SlurmPhase : std::uint8_t { waiting, running, ended };

/// A job as Slurm sees it.
struct SlurmJob {
  std::string state{};  ///< Slurm's word: "PENDING", "RUNNING", "COMPLETED", "NODE_FAIL", ...
  SlurmPhase phase = SlurmPhase::waiting;
  std::string reason{};         ///< Slurm's word: "Resources", "Priority"; may be empty.
  process::ExitStatus batch{};  ///< The outcome of the batch script, once the job has ended.
  std::string nodes{};          ///< "node[1-2]"; empty before the job has nodes.
  std::string id{};             ///< Slurm's number of the job; empty if the answer lacks it.
};

/// Parses the answer of the script slurm_state: a line that names its source, `scontrol`, `sacct`
/// or `batch`, and the lines of that program. Throws remote, showing the input, for anything else
/// and for states that are unknown.
SlurmJob parse_slurm_job(std::string_view text);

/// Returns a job that Slurm does not know any more: its ranks alone show how it ended.
SlurmJob forgotten_slurm_job();

/// Returns the job whose batch script has recorded its end, which it does after a success; absent
/// for the record of another end, whose cause Slurm knows.
std::optional<SlurmJob> job_in_record(const agent::JobEnd& end);

/// Returns the record of the job's end for those that follow its logs.
agent::JobEnd slurm_job_end(const SlurmJob& job, std::int64_t now_ns);

/// Decides. Ranks that failed by themselves come first, as with other engines. What Slurm ended is
/// named by Slurm's word.
JobOutcome decide_slurm(JobReport report, const SlurmJob& job);

}  // namespace fastgpu::launcher
