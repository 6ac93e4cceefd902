// What the jobs on this node are told about it.
#pragma once

#include <string_view>

namespace fastgpu::agent {

/// Adds a line to the error log of each job that has a rank running here, once for each `mark`.
/// Never throws: a job that just ends misses nothing.
void tell_jobs(std::string_view mark, std::string_view line) noexcept;

}  // namespace fastgpu::agent
