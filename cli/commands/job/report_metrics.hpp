// The metrics that a job has printed, for its report.
#pragma once

#include <string>

#include "cli/commands/job/report_usage.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// Returns a chart of each measure over the time of the job, as well-formed XML; "" for a job that
/// has printed none twice.
std::string metrics_section(const JobEvidence& evidence, const ChartSpan& span);

/// Returns the measures with their points.
Json metrics_items(const JobEvidence& evidence);

}  // namespace fastgpu::cli
