// Texts in pieces: parts between separators, lines, words. The pieces refer to the text.
#pragma once

#include <string_view>
#include <vector>

namespace fastgpu {

/// Returns the parts between the separators, which may be empty: one more than there are
/// separators.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Returns the lines without their line ends. The last line may lack one.
std::vector<std::string_view> split_lines(std::string_view text);

/// Returns the words between blanks; none is empty.
std::vector<std::string_view> split_words(std::string_view text,
                                          std::string_view blanks = " \t\r\n");

/// Returns the text without blanks at its beginning and its end.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") noexcept;

}  // namespace fastgpu
