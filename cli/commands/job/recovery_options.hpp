// The flags of run job for hangs, and for jobs that are started again.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/program/arguments.hpp"
#include "launcher/job.hpp"
#include "launcher/job_file.hpp"

namespace fastgpu::cli {

struct RecoveryFlags {
  std::optional<std::chrono::milliseconds> hang_timeout;
  std::optional<int> retries;
  std::string retry_on;
  std::optional<transfer::NodePath> checkpoints;
};

/// Adds --hang-timeout, --retry, --on and --checkpoints.
void describe_recovery(Arguments& arguments, RecoveryFlags& flags);

/// Sets what the flags, or else the job file, ask for. Throws usage for an invalid cause, and for
/// causes without retries.
void set_recovery(launcher::JobSpec& spec, const RecoveryFlags& flags,
                  const launcher::JobFile& file);

/// Returns true if a fastgpu must follow the job to its end.
bool needs_follower(const launcher::JobSpec& spec);

}  // namespace fastgpu::cli
