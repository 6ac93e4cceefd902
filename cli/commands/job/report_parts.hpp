// Small parts of HTML that the sections of a job's report share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Returns a row of a table; `cell` is "td" or "th".
std::string html_row(std::string_view cell, const std::vector<std::string>& texts);

/// Returns a share from 0 to 1 as a length in CSS: "12.50%".
std::string share_text(double share);

}  // namespace fastgpu::cli
