// The parts of a job that run job asks for and that not every engine has.
#pragma once

#include <vector>

#include "cli/commands/job/run_job_options.hpp"
#include "launcher/engine_features.hpp"
#include "launcher/job_file.hpp"

namespace fastgpu::cli {

/// Returns what the flags or the job file ask for; launcher::check_features() knows the engines.
std::vector<launcher::JobFeature> asked_features(const RunJobOptions& options,
                                                 const launcher::JobFile& file);

}  // namespace fastgpu::cli
