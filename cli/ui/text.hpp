// Small pieces of text on a terminal: widths, cuts, ages.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Returns the columns that UTF-8 `text` takes; a broken byte counts as one.
std::size_t display_width(std::string_view text);

/// Returns `text` in at most `width` columns; a text that was cut ends in `ellipsis`.
std::string cut_to_width(std::string_view text, std::size_t width, std::string_view ellipsis);

/// Returns `text` in lines of at most `width` columns, broken at blanks; a longer word is a line of
/// its own. Blanks at a break are dropped, other ones stay. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Returns the columns of the longest word of `text`; wrapped() never breaks words.
std::size_t longest_word(std::string_view text);

/// Returns the time since `then` in its one largest unit: "12s", "3m", "5h", "9d"; "0s" for the
/// future.
std::string age(std::chrono::system_clock::time_point then,
                std::chrono::system_clock::time_point now);

}  // namespace fastgpu::cli
