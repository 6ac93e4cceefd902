// Small pieces of text as a terminal shows them: widths, cuts, ages.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace fastgpu::cli {

/// Columns that UTF-8 `text` takes; a broken byte counts as one.
std::size_t display_width(std::string_view text);

/// `text` in at most `width` columns, ending in "…" where something was left out.
std::string cut_to_width(std::string_view text, std::size_t width);

/// `text` in at most `width` columns, with "…" where its middle was left out: of names that begin
/// alike the end is what tells them apart.
std::string cut_in_middle(std::string_view text, std::size_t width);

/// `text` with its control characters escaped, so that it stays on one line and steers nothing.
std::string one_line(std::string_view text);

/// The time since `then` in its one largest unit: "12s", "3m", "5h", "9d"; "0s" for the future.
std::string age(std::chrono::system_clock::time_point then,
                std::chrono::system_clock::time_point now);

/// "2026-03-01T12:00:00Z"
std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace fastgpu::cli
