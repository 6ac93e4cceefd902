// When a job that has ended badly is started again. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/job_outcome.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {

/// The flag for work at the end of a job that has not succeeded.
inline constexpr std::string_view kPostMortemFlag = "--post-mortem";

/// The maximum number of restarts.
inline constexpr int kMostRetries = 1'000;

/// Returns the causes after which jobs are started again by default.
std::vector<JobEndCause> usual_retry_causes();

/// Returns the words for the causes after which jobs can be started again.
std::vector<std::string> retry_cause_words();

/// Parses "node-loss,preempted,hang". Throws usage for another word, with the nearest one.
std::vector<JobEndCause> parse_retry_causes(std::string_view list);

/// Returns the wait before the job is started again, after `restarts` earlier ones; absent if it is
/// not started again.
std::optional<std::chrono::milliseconds> wait_before_restart(const JobSpec& spec, JobEndCause cause,
                                                             int restarts);

/// Returns the words for the reason of a job that has restarts left, and is not started again
/// because its list of causes lacks one that the default list has; "" for any other job.
std::string reason_against_restart(const JobSpec& spec, JobEndCause cause, int restarts);

/// Returns what is left undone after this end of a job if the fastgpu that runs it has gone:
/// another run, and `at_end`; "" for nothing.
std::string undone_without_owner(const JobSpec& spec, const JobOutcome& outcome, int restarts);

/// Returns the cause of an end, given whether the cloud has taken one of the job's nodes back or
/// has announced it.
JobEndCause with_notice(JobEndCause cause, bool is_taken_back);

/// Returns true if the ranks of the job fit on `nodes` without those that were lost.
bool fits_without(std::vector<NodeSlots> nodes, const std::vector<NodeName>& lost,
                  const JobSpec& spec);

/// Returns the nodes to start the job on again: without those that were lost, if its ranks fit on
/// the others; else all.
std::vector<NodeSlots> nodes_for_restart(std::vector<NodeSlots> nodes,
                                         const std::vector<NodeName>& lost, const JobSpec& spec);

}  // namespace fastgpu::launcher
