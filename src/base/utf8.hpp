// UTF-8 from outside: its byte order mark, its code points, and the escaping of those that control
// a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns the text without a UTF-8 byte order mark at its beginning, which editors on Windows
/// write.
std::string_view without_byte_order_mark(std::string_view text) noexcept;

struct CodePoint {
  char32_t value = 0;  ///< The byte itself if it is not valid UTF-8.
  std::size_t bytes = 1;
  bool valid = true;
};

/// Returns the first code point of `text`, which is not empty. Overlong forms, surrogates and
/// values above U+10FFFF are invalid.
CodePoint first_code_point(std::string_view text) noexcept;

/// The code points from `first` to `last`.
struct CodePointRange {
  char32_t first;
  char32_t last;
};

bool is_in(std::span<const CodePointRange> ranges, char32_t point) noexcept;

/// Returns true for code points that control a terminal instead of being shown: C0, DEL and C1
/// control characters, marks that change the text direction, and separators of lines and
/// paragraphs.
bool steers(char32_t point) noexcept;

enum class Layout : std::uint8_t {
  kept,     ///< Line ends and tabs stay.
  one_line  ///< They are escaped as well.
};

/// Returns `text` with all such code points and all bytes of invalid UTF-8 escaped: "\x1b",
/// "\u202e", "\n". If line ends stay, drops a carriage return before a line end.
std::string escaped(std::string_view text, Layout layout);

/// Returns true for a text of printable ASCII characters alone: each takes one column of a
/// terminal, and escaped() returns it unchanged.
bool is_printable_ascii(std::string_view text) noexcept;

/// Returns true if escaped(text, Layout::kept) would change `text`.
bool needs_escape(std::string_view text) noexcept;

}  // namespace fastgpu
