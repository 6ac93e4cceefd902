// The words of a failed command about a job that runs on without it, the same for all engines.
// Pure.
#pragma once

#include <string>

#include "base/error.hpp"

namespace fastgpu::cli {

/// Returns the failure of a command that leaves its job running, with the commands that reach the
/// job: "...; job train-1 goes on: fastgpu wait job train-1 | fastgpu cancel job train-1".
Error with_job_that_goes_on(const Error& error, const std::string& job);

/// Returns the same for a job that may run: whether it was started is not known.
Error with_job_that_may_run(const Error& error, const std::string& job);

}  // namespace fastgpu::cli
