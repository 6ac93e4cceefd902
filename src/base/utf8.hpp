// UTF-8 from outside: its code points, and which of them steer a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu {

struct CodePoint {
  char32_t value = 0;  ///< The byte itself if it is not valid UTF-8.
  std::size_t bytes = 1;
  bool valid = true;
};

/// Returns the first code point of `text`, which is not empty. Overlong forms, surrogates and
/// values above U+10FFFF are invalid.
CodePoint first_code_point(std::string_view text) noexcept;

/// Returns true for code points that a terminal obeys instead of showing. These are C0, DEL and C1
/// control characters, marks that change the direction of text, separators of lines and paragraphs.
bool steers(char32_t point) noexcept;

enum class Layout : std::uint8_t {
  kept,     ///< Line ends and tabs stay.
  one_line  ///< They are escaped as well.
};

/// Returns `text` with everything escaped that steers a terminal and every byte that is not UTF-8:
/// "\x1b", "\u202e", "\n". A carriage return before a line end is dropped if line ends stay.
std::string escaped(std::string_view text, Layout layout);

/// Returns true if `text` has something that escaped(text, Layout::kept) changes.
bool needs_escape(std::string_view text) noexcept;

}  // namespace fastgpu
