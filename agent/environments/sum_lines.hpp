// What a relay says of the files of a build that it has sent, a line each, for whoever builds.
#pragma once

#include <string>
#include <string_view>

#include "agent/environments/manifest.hpp"

namespace fastgpu::agent {

/// `path` has no end of line.
std::string to_sum_line(const std::string& path, const transfer::Digest& sum);

/// Those of `text` that are whole, by path; what is none is passed over.
KnownSums parse_sum_lines(std::string_view text);

}  // namespace fastgpu::agent
