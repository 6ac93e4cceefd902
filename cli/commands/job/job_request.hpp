// The job that run job is asked for: its flags, over its job file.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/job/run_job_options.hpp"
#include "cli/program/context.hpp"
#include "launcher/job.hpp"
#include "launcher/job_file.hpp"

namespace fastgpu::cli {

/// Returns the text of the job file; empty without a job file. The process of an array's job gets
/// it as standard input: the file may have changed since the array was recorded.
std::string job_file_text(Context& context, const RunJobOptions& options);

/// Parses `text` with the assignments of --set. Throws usage, with line and column.
launcher::JobFile job_file_of(const RunJobOptions& options, const std::string& text);

/// Returns the secrets of the file and of --secret as variables.
std::vector<std::string> secrets_of(const RunJobOptions& options, const launcher::JobFile& file,
                                    const state::Environment& ours);

/// Returns the name of the environment that the job runs in: that of --environment, of the file, or
/// the active one; empty for none.
std::string wanted_environment(const RunJobOptions& options, const launcher::JobFile& file,
                               const std::string& active);

/// Returns the specification of the job. Flags win over the file. `secrets` are among its
/// variables. Throws usage for what is wrong in it, or not served by its engine.
launcher::JobSpec requested_spec(const RunJobOptions& options, const launcher::JobFile& file,
                                 const std::vector<std::string>& secrets,
                                 const state::Environment& ours);

}  // namespace fastgpu::cli
