// A line of a program's output, as a terminal shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns the line without what a carriage return has overwritten, and without NUL bytes and
/// escape sequences (colours, titles, links: ECMA-48, 5.4 and 5.6). Pure.
std::string shown_line(std::string_view line);

/// Cuts a text to at most this many bytes, and not in the middle of a character of UTF-8. Pure.
std::string cut_to(std::string text, std::size_t most_bytes);

}  // namespace fastgpu
