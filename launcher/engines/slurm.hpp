// Slurm: the words of its options, and what it reports about a job. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/status.hpp"
#include "launcher/engines/slurm_times.hpp"
#include "launcher/engines/slurm_words.hpp"
#include "launcher/job.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// Returns the text if Slurm reads it as one word of a batch script's options: letters, digits,
/// _-.,:@+=/ and the marks in `more`. Throws ErrorKind::usage otherwise.
std::string checked_slurm_word(const std::string& text, std::string_view more = {});

/// Returns the number of ranks: -np, or the ranks of each node times the nodes. Throws
/// ErrorKind::usage if the job has neither.
int slurm_ranks(const JobSpec& spec);

/// Returns the job with what Slurm does not know of nodes on which fastgpu has set it up: without a
/// number it has a rank for each slot, and no node gets more ranks than the most slots of a node. A
/// job that chooses its nodes itself stays as it is. Throws ErrorKind::usage for more ranks than
/// slots.
JobSpec within_slots(JobSpec spec, std::span<const NodeSlots> nodes);

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
  std::string batch_host{};     ///< The node of the batch script; may be empty.
  /// The nodes of a job that is ending, or has ended, on which Slurm is not done yet.
  std::string cleaning{};
  SlurmAge begun_for{};         ///< The age of its beginning; absent if that is not known.
  SlurmAge ended_for{};         ///< The age of its end; absent before that, or if it is not known.
  state::TimePoint answered{};  ///< The time on our clock when the answer came.
  bool is_stopped = false;      ///< A fastgpu has cancelled the job, or is about to do so.
  std::optional<SlurmFault> fault{};  ///< A failure of a node that ended the job, if a node has it.
};

/// Returns the time on our clock when the job began; absent if that is not known.
std::optional<state::TimePoint> beginning_of(const SlurmJob& job);

/// Returns the time on our clock when the job ended; absent if that is not known.
std::optional<state::TimePoint> end_of(const SlurmJob& job);

/// Returns why a job makes no progress: "waits in Slurm's queue (Resources)", "is suspended in
/// Slurm", "is being ended by Slurm on n2"; empty for a job that runs or has ended.
std::string idle_reason(const SlurmJob& job);

/// Parses the answer of slurm.sh about a job: a line that names its source, `scontrol`, `sacct`
/// or `batch`, and the line of that program. After that of scontrol there may be "batch CODE
/// NODES", the end of the batch script, and lines "node NodeName=NODE Reason=...". Times are
/// seconds since 1970; a line "clock SECONDS" has the present one, and "ended SECONDS" that at
/// which the batch script ended. The line "stopped" is there once a fastgpu cancels the job. A job
/// that Slurm has put back into its queue after it had started has ended, with the state
/// "REQUEUED": its batch script runs once. A job whose batch script has ended by itself has ended,
/// too, although Slurm may still clean up on a node that does not answer. Throws remote, showing
/// the input, for anything else and for states that are unknown.
SlurmJob parse_slurm_job(std::string_view text);

/// Returns a job that Slurm does not know any more: its ranks alone show how it ended.
SlurmJob forgotten_slurm_job();

/// Returns the job whose batch script has recorded its end, which it does after a success; absent
/// for the record of another end, whose cause Slurm knows.
std::optional<SlurmJob> job_in_record(const agent::JobEnd& end);

/// Returns the record of the job's end for those that follow its logs.
agent::JobEnd slurm_job_end(const SlurmJob& job, std::int64_t now_ns);

/// Decides. A node on which Slurm could not start ranks comes first, then ranks that failed by
/// themselves, as with other engines. What Slurm ended is named by Slurm's word.
JobOutcome decide_slurm(JobReport report, const SlurmJob& job);

}  // namespace fastgpu::launcher
