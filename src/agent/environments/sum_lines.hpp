// A relay's report to the building agent of the files that it has sent, a line each.
#pragma once

#include <string>
#include <string_view>

#include "agent/environments/manifest.hpp"

namespace fastgpu::agent {

/// Returns a line; `path` contains no end of line.
std::string to_sum_line(const std::string& path, const transfer::Digest& sum);

/// Returns the complete lines of `text`, by path; skips malformed ones.
KnownSums parse_sum_lines(std::string_view text);

}  // namespace fastgpu::agent
