// Notices about this node for its jobs.
#pragma once

#include <string_view>

namespace fastgpu::agent {

/// Adds a line to the error log of each job that has a rank running here, once for each `mark`.
/// Never throws: a job that just ends misses nothing.
void tell_jobs(std::string_view mark, std::string_view line) noexcept;

}  // namespace fastgpu::agent
