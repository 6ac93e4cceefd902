// A job followed to its end, and its outcome.
#pragma once

#include <optional>

#include "cli/commands/job/job_output.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {

struct FollowWish {
  launcher::OnCancel on_cancel = launcher::OnCancel::leave_job;
  RankLabels labels = RankLabels::shown;
  bool output = true;
  std::optional<std::uint64_t> tail{};
  remote::SharedInput* input = nullptr;  ///< The input of rank 0; null: none.
  /// The time after which the job is left, and timeout thrown; absent: never.
  std::optional<std::chrono::milliseconds> patience{};
};

/// Follows the job to its end, which is recorded; `output` shows its output. Absent if the reader
/// of our own output is gone.
std::optional<state::Job> follow_to_end(Context& context, launcher::JobRunner& runner,
                                        const OpenJob& open, const FollowWish& wish,
                                        JobOutput& output);

/// Follows the job to its end and shows the outcome. Returns its exit code.
int follow_job(Context& context, launcher::JobRunner& runner, const OpenJob& open,
               const FollowWish& wish);

/// Returns the error for a job that has not succeeded, by its exit code.
Error failure_of(const state::Job& job);

/// Shows the outcome of a job that has ended. Returns its exit code.
int show_ended(Context& context, const state::Job& job, const std::string& cluster);

/// Shows a job that now runs without us. Returns 0.
int show_detached(Context& context, const state::Job& job);

}  // namespace fastgpu::cli
