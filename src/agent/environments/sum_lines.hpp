// The lines by which a relay reports to the building agent the files that it has sent.
#pragma once

#include <string>
#include <string_view>

#include "agent/environments/manifest.hpp"

namespace fastgpu::agent {

/// Returns a line. `path` must not contain a line end.
std::string to_sum_line(const std::string& path, const transfer::Digest& sum);

/// Returns the files in the complete lines of `text`, by path. Skips malformed lines.
KnownSums parse_sum_lines(std::string_view text);

}  // namespace fastgpu::agent
