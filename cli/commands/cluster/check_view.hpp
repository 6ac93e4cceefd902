// The findings of checks as a table, as lines and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "cli/workflows/cluster_checks.hpp"

namespace fastgpu::cli {

Table table_of_findings(const std::vector<launcher::Finding>& findings);
Json json_of_findings(const std::vector<launcher::Finding>& findings);

/// Returns "demo-[0-1]: clock: 10m ahead of demo-0 (logs are merged by time): start a time
/// service".
std::string line_of(const launcher::Finding& finding);

/// Returns "1 error, 2 warnings"; "no findings".
std::string counts_of(const std::vector<launcher::Finding>& findings);

View view_of(const CheckReport& report);

}  // namespace fastgpu::cli
