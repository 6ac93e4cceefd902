// The part of a job's report about its nodes: how busy they were, and what the library counted.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/job/report_span.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// Returns the charts of the nodes and the counters of libfastgpu_comm as well-formed parts of a
/// page, to be styled by usage_style(). "" without any of them.
std::string usage_sections(const JobEvidence& evidence, const ChartSpan& span);

std::string_view usage_style() noexcept;

/// Adds "usage", "counters" and "timelines" to the document of the report.
void add_usage_fields(Json& root, const JobEvidence& evidence);

}  // namespace fastgpu::cli
