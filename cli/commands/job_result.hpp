// A job followed to its end, and what it came to.
#pragma once

#include <optional>

#include "cli/commands/job_output.hpp"
#include "cli/job_access.hpp"

namespace fastgpu::cli {

struct FollowWish {
  launcher::OnCancel on_cancel = launcher::OnCancel::leave_job;
  RankLabels labels = RankLabels::shown;
  bool output = true;
  std::optional<std::uint64_t> tail{};
  remote::SharedInput* input = nullptr;  ///< For rank 0; null: none.
  /// After this the job is left, and timeout thrown; absent: never.
  std::optional<std::chrono::milliseconds> patience{};
};

/// Follows the job to its end, which is written down; `output` shows what it says. Absent where
/// nobody reads our own output any more.
std::optional<state::Job> follow_to_end(Context& context, launcher::JobRunner& runner,
                                        const OpenJob& open, const FollowWish& wish,
                                        JobOutput& output);

/// Follows the job to its end and says how it ended. Returns its exit code.
int follow_job(Context& context, launcher::JobRunner& runner, const OpenJob& open,
               const FollowWish& wish);

/// The error that a job which has not succeeded is, by the exit code that it came to.
Error failure_of(const state::Job& job);

/// Says how a job that has ended came to its end. Returns its exit code.
int show_ended(Context& context, const state::Job& job, const std::string& cluster);

/// Shows a job that now runs without us. Returns 0.
int show_detached(Context& context, const state::Job& job);

}  // namespace fastgpu::cli
