// The common part of wait, attach, cancel and logs: a job that was started before.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {

/// A bound for ranks and for lines.
inline constexpr int kMostLines = 1'000'000'000;

struct JobOptions {
  std::string job;
  std::string cluster;
  std::optional<int> rank;
  std::optional<int> tail;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> since;
  bool timestamps = false;
  bool fold = false;
  bool follow = false;
};

/// Adds JOB and --cluster.
std::shared_ptr<JobOptions> describe_job(Arguments& arguments);
/// Adds --tail.
void describe_tail(Arguments& arguments, JobOptions& options);

std::optional<agent::Tail> tail_of(const JobOptions& options);  ///< Returns --tail.

/// Adds --cluster.
void describe_foreign(Arguments& arguments, std::string& cluster);
/// Records the job if --cluster is given and another machine has started it there.
void find_foreign(Context& context, const std::string& job, const std::string& cluster);

/// Returns the named job. If its cluster is stopped, a node of the job has left it, or its start is
/// not confirmed, first finds out and records whether the job has ended.
OpenJob open_settled(Context& context, const std::string& name);

/// Does the same for a job whose outcome is enough: that is on record after its cluster is deleted,
/// too. The cluster is empty then.
OpenJob open_for_outcome(Context& context, const state::Job& job);

}  // namespace fastgpu::cli
