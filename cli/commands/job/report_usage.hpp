// The part of a job's report about its nodes: how busy they were, and what the library counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/ui/view.hpp"
#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// The time that charts show, in nanoseconds since 1970.
struct ChartSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Returns the charts of the nodes, the counters of libfastgpu_comm and its timelines as
/// well-formed parts of a page, to be styled by usage_style(). "" without any of them.
std::string usage_sections(const JobEvidence& evidence, const ChartSpan& span);

std::string_view usage_style() noexcept;

/// Adds "usage", "counters" and "timelines" to the document of the report.
void add_usage_fields(Json& root, const JobEvidence& evidence);

}  // namespace fastgpu::cli
