#include "cli/ui/text.hpp"

#include <algorithm>
#include <array>

#include "base/utf8.hpp"

namespace fastgpu::cli {
namespace {

using Range = CodePointRange;

constexpr std::array kInvisible = {Range{0x300, 0x36f},   Range{0x200b, 0x200f},
                                   Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f},
                                   Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}};
constexpr std::array kWide = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},  Range{0x3041, 0xa4cf}, Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},  Range{0xff00, 0xff60}, Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1faff}, Range{0x20000, 0x3fffd}};

/// The first code point of a text: its bytes, and its columns on a terminal.
struct Glyph {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

Glyph first_glyph(std::string_view text) {
  if (text.front() >= ' ' && text.front() <= '~') return {};
  const CodePoint point = first_code_point(text);
  if (!point.valid) return {1, 1};
  if (steers(point.value) || is_in(kInvisible, point.value)) return {point.bytes, 0};
  return {point.bytes, is_in(kWide, point.value) ? std::size_t{2} : std::size_t{1}};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

std::string cut_to_width(std::string_view text, std::size_t width, std::string_view ellipsis) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t end = display_width(ellipsis);
  if (width < end) return "";
  std::string out;
  std::size_t columns = 0;
  for (;;) {
    const Glyph glyph = first_glyph(text);
    if (columns + glyph.columns + end > width) break;
    columns += glyph.columns;
    out += text.substr(0, glyph.bytes);
    text.remove_prefix(glyph.bytes);
  }
  return out + std::string(ellipsis);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    const std::size_t columns = display_width(text.substr(at, end - at));
    const bool begins = word == end;  // True only for blanks at the end of the text.
    if (used > 0 && used + columns > width) {
      if (begins) break;
      lines.emplace_back(text.substr(word, end - word));
      used = display_width(lines.back());
    } else {
      lines.back() += text.substr(at, end - at);
      used += columns;
    }
    at = end;
  }
  return lines;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string& word : wrapped(text, 1))
    longest = std::max(longest, display_width(word));
  return longest;
}

std::string age(std::chrono::system_clock::time_point then,
                std::chrono::system_clock::time_point now) {
  using std::chrono::seconds;
  const auto whole = std::chrono::duration_cast<seconds>(now - then);
  const long long count = std::max<long long>(0, whole.count());
  if (count < 120) return std::to_string(count) + "s";
  if (count < 120LL * 60) return std::to_string(count / 60) + "m";
  if (count < 48LL * 3600) return std::to_string(count / 3600) + "h";
  return std::to_string(count / 86400) + "d";
}

}  // namespace fastgpu::cli
