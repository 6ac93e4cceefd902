// Text on a terminal: its width, shortening, wrapping, and times as text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Returns the number of columns that UTF-8 text needs. An invalid byte counts as one column.
std::size_t display_width(std::string_view text);

/// Returns `text` in at most `width` columns. If it was cut, it ends with `ellipsis`.
std::string cut_to_width(std::string_view text, std::size_t width, std::string_view ellipsis);

/// Returns `text` in lines of at most `width` columns, broken at blanks, which are dropped there. A
/// longer word gets a line of its own. Returns at least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Returns the width of the longest word in columns. wrapped() never breaks words.
std::size_t longest_word(std::string_view text);

/// Returns the time since `then` in the largest fitting unit: "12s", "3m", "5h", "9d". Returns "0s"
/// for a time in the future.
std::string age(std::chrono::system_clock::time_point then,
                std::chrono::system_clock::time_point now);

}  // namespace fastgpu::cli
