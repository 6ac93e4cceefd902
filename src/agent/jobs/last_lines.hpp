// The last lines of a rank's output, for the report of its end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace fastgpu::agent {

/// Returns at most kMostLastLines lines of `stem`.out and `stem`.err which are not blank, in the
/// order in which they were written, without secrets. Each has at most kLongestLastLine bytes, and
/// all of them at most `most_bytes`.
std::vector<std::string> last_lines(const std::filesystem::path& stem,
                                    const std::vector<std::string>& secrets,
                                    std::size_t most_bytes);

}  // namespace fastgpu::agent
