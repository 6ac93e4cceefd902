// Tells the jobs on this node about it by their logs.
#pragma once

#include <string_view>

namespace fastgpu::agent {

/// Adds a line to the error log of each job that has a running rank here, once for each `mark`.
/// Never throws: a job that is ending needs no notice.
void tell_jobs(std::string_view mark, std::string_view line) noexcept;

}  // namespace fastgpu::agent
