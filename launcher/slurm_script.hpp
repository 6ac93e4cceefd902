// The script that calls Slurm's programs on the head of a cluster, and the meaning of its answers.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {

/// The timeout of a question that needs a controller which answers.
inline constexpr std::chrono::milliseconds kSlurmAnswerTimeout{30'000};

/// Returns the call of the script with an action and its arguments.
NodeTask slurm_task(const ssh::Host& head, std::vector<std::string> words,
                    const std::string& input = {});

/// The file on a head whose nodes share no home directory, below ~/.fastgpu: the mark of the nodes
/// that have the agent. A job is submitted with the mark of its nodes.
inline constexpr const char* kPreparedNodes = "slurm-nodes";

/// Returns true if a job was not submitted, because the head has another mark of its nodes.
bool is_unprepared(const NodeAnswer& submission);

/// Returns the error of a call of the script; absent for a success.
std::optional<Error> failure_of_call(const NodeAnswer& answer);

/// Returns true if the answer to a submission does not show whether Slurm has the job.
bool is_unclear(const NodeAnswer& submission);

/// Returns the error of the action `test`, whose complaints are in its output; absent for a
/// success.
std::optional<Error> failure_of_trial(const NodeAnswer& answer);

/// Returns what Slurm has written, printable and of a limited length: first the line that has its
/// answer, then all others, such as the greeting of a site.
std::string words_of_slurm(const std::string& text);

/// Returns what Slurm has written about a job that it took, such as fewer nodes than requested;
/// empty if it has written nothing.
std::string warning_of_slurm(const NodeAnswer& submission);

/// Returns the job in an answer; absent before it was submitted. Throws the error of the
/// call.
std::optional<SlurmJob> slurm_job_in(const NodeAnswer& answer);

/// Returns the job as Slurm sees it; absent before it was submitted.
std::optional<SlurmJob> ask_slurm(ssh::Client& client, const ssh::Host& head, const std::string& id,
                                  std::chrono::milliseconds timeout, const Cancel& cancel);

/// The looks of one wait for the end of a job: often at first, so that the end of a short job is
/// seen soon. Each wait is short, because it goes on at the head when this program is killed.
struct SlurmLooks {
  const char* count;
  const char* seconds;  ///< Between two looks.
};
inline constexpr SlurmLooks kFirstLooks{"25", "0.2"};
inline constexpr SlurmLooks kLaterLooks{"5", "1"};

/// Waits some seconds for the end of a job.
NodeAnswer await_slurm(ssh::Client& client, const ssh::Host& head, const std::string& id,
                       const SlurmLooks& looks, const Cancel& cancel);

/// Returns true if the wait has ended before the job.
bool still_runs(const NodeAnswer& answer);

/// Returns the nodes on which Slurm is still ending a job, from the answer to its cancellation:
/// "n[1-2]"; empty if it has ended.
std::string nodes_that_slurm_cleans(const NodeAnswer& cancellation);

/// Records the end of a job where those that follow its logs find it: now.
void note_slurm_end(ssh::Client& client, const ssh::Host& head, const std::string& id,
                    const SlurmJob& ended, const Cancel& cancel);

/// Records that a job was cancelled, where those that follow its logs find it.
void note_slurm_cancel(ssh::Client& client, const ssh::Host& head, const std::string& id,
                       const Cancel& cancel);

}  // namespace fastgpu::launcher
