#include "cli/ui/text.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace fastgpu::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kInvisible = {Range{0x300, 0x36f},   Range{0x200b, 0x200f},
                                   Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f},
                                   Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}};
constexpr std::array kWide = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},  Range{0x3041, 0xa4cf}, Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},  Range{0xff00, 0xff60}, Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1faff}, Range{0x20000, 0x3fffd}};

template <class Table>
bool within(const Table& table, char32_t point) {
  return std::ranges::any_of(
      table, [point](const Range& r) { return point >= r.first && point <= r.last; });
}

struct Glyph {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

/// The first code point of `text`, which is not empty.
Glyph first_glyph(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {1, lead < 0x20 || lead == 0x7f ? std::size_t{0} : std::size_t{1}};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {1, 1};
  char32_t point = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {1, 1};
    point = (point << 6) | (byte & 0x3fU);
  }
  if (within(kInvisible, point)) return {bytes, 0};
  return {bytes, within(kWide, point) ? std::size_t{2} : std::size_t{1}};
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

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string out;
  std::size_t columns = 0;
  for (;;) {
    const Glyph glyph = first_glyph(text);
    if (columns + glyph.columns + 1 > width) break;
    columns += glyph.columns;
    out += text.substr(0, glyph.bytes);
    text.remove_prefix(glyph.bytes);
  }
  return out + "…";
}

std::string cut_in_middle(std::string_view text, std::size_t width) {
  std::size_t left = display_width(text);
  if (left <= width) return std::string(text);
  const std::size_t end = width / 3;
  const std::string head = cut_to_width(text, width - end);
  while (left > end) {
    const Glyph glyph = first_glyph(text);
    left -= glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return head + std::string(text);
}

std::string one_line(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F steer a terminal as well.
    const bool steers = byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte < 0xa0);
    before = byte;
    if (!steers)
      out += c;
    else
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
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

std::string timestamp(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm fields{};
  ::gmtime_r(&seconds, &fields);
  std::array<char, 32> buffer{};
  std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &fields);
  return buffer.data();
}

}  // namespace fastgpu::cli
