// The standard input of a job's ranks: --stdin.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/commands/job/run_job_options.hpp"
#include "cli/workflows/services.hpp"
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

enum class JobKind : std::uint8_t { single, array };

/// Warns if there is something on our standard input that no rank of this job can read, unless the
/// user has asked for --stdin none.
void warn_of_unread_input(Messages& messages, const RunJobOptions& options,
                          const launcher::JobFile& file, const launcher::JobSpec& spec,
                          JobKind kind);

}  // namespace fastgpu::cli
