// The folders in which libfastgpu_comm writes counters and timelines of a job.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/samples.hpp"
#include "agent/protocol/trace_end.hpp"

namespace fastgpu::agent {

/// Keeps in the job's folder where a rank's program is to write its counters and its timeline, by
/// the variables in `environment`. Never throws: the report then lacks them.
void note_comm_folders(const std::filesystem::path& job_directory, const JobPlan& plan,
                       const std::vector<std::string>& environment) noexcept;

/// Returns the samples of this node, and the counters and timelines that ranks here have written
/// since the job began.
JobUsage read_job_usage(const std::filesystem::path& job_directory);

/// Returns the last bytes, `most` at most, of the timelines that these ranks have written here
/// since the job began. Leaves out what is not a regular file.
std::vector<TraceEnd> read_trace_ends(const std::filesystem::path& job_directory, std::size_t most,
                                      const std::vector<int>& ranks);

}  // namespace fastgpu::agent
