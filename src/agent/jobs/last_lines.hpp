// The last lines of a rank's output, for the report of its end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// Returns the line as a terminal would show it: without what a carriage return has overwritten,
/// and without NUL bytes. Pure.
std::string shown_line(std::string_view line);

/// Returns the text with "***" for each of `secrets`, and for each of their lines. Secrets of less
/// than four bytes are ignored, since they may be part of any word. Pure.
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

/// Returns at most kMostLastLines lines of `stem`.out and `stem`.err which are not blank, in the
/// order in which they were written, without secrets. Each has at most kLongestLastLine bytes, and
/// all of them at most `most_bytes`.
std::vector<std::string> last_lines(const std::filesystem::path& stem,
                                    const std::vector<std::string>& secrets,
                                    std::size_t most_bytes);

}  // namespace fastgpu::agent
