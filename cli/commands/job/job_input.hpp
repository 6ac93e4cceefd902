// The standard input of a job's ranks: --stdin.
#pragma once

#include <memory>

#include "cli/commands/job/run_job_options.hpp"
#include "launcher/job.hpp"
#include "launcher/job_file.hpp"
#include "remote/shared_input.hpp"

namespace fastgpu::cli {

/// Returns true if the flags or the job file name ranks that read standard input.
bool wants_input(const RunJobOptions& options, const launcher::JobFile& file);

/// Returns our standard input for rank 0 or all ranks, which it notes in the record; null for a
/// detached job, and if the job file was read from standard input.
std::unique_ptr<remote::SharedInput> open_input(const RunJobOptions& options,
                                                const launcher::JobFile& file,
                                                launcher::JobRecord& record);

/// Throws usage if a job that may be started again is to read standard input, which can be read
/// once.
void check_input_of_retries(const RunJobOptions& options, const launcher::JobFile& file,
                            const launcher::JobSpec& spec);

/// Throws usage if the jobs of an array are to read standard input, which they would share.
void check_input_of_array(const RunJobOptions& options, const launcher::JobFile& file);

}  // namespace fastgpu::cli
