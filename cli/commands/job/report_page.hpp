// The report of a job as one page of HTML.
#pragma once

#include <string>

#include "cli/ui/view.hpp"
#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// Returns a page that needs no other file and is well-formed XML: the outcome, the placement, the
/// timeline of ranks and the ends of logs. `now` is the end of what has not ended.
std::string report_page(const JobEvidence& evidence, state::TimePoint now);

/// Returns the report for a terminal and for programs: a row for each rank.
View report_view(const JobEvidence& evidence, state::TimePoint now);

}  // namespace fastgpu::cli
