// The part of a job's report about the timelines that libfastgpu_comm has written.
#pragma once

#include <string>
#include <string_view>

#include "cli/ui/view.hpp"
#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// Returns the operations, the ranks that others waited for, the bars of the last steps and the
/// files as a well-formed part of a page, to be styled by traces_style(). "" without timelines.
std::string traces_section(const JobEvidence& evidence);

std::string_view traces_style() noexcept;

/// Returns what the timelines show together, for programs.
Json traces_item(const JobEvidence& evidence);

}  // namespace fastgpu::cli
