#include "base/utf8.hpp"

#include <algorithm>
#include <array>

namespace fastgpu {
namespace {

using Range = CodePointRange;

constexpr std::array kSteering = {Range{0x00, 0x1f},     Range{0x7f, 0x9f},
                                  Range{0x061c, 0x061c}, Range{0x200e, 0x200f},
                                  Range{0x2028, 0x202e}, Range{0x2066, 0x2069}};

constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};

std::size_t length_from(unsigned char lead) noexcept {
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  return 1;
}

std::string hexadecimal(char32_t value, int digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out += kHex[(value >> static_cast<unsigned>(shift)) & 15U];
  return out;
}

std::string escape_of(const CodePoint& point) {
  if (point.valid && point.value == '\n') return "\\n";
  if (point.valid && point.value == '\r') return "\\r";
  if (point.valid && point.value == '\t') return "\\t";
  if (!point.valid || point.value < 0x80) return "\\x" + hexadecimal(point.value, 2);
  return "\\u" + hexadecimal(point.value, 4);
}

bool is_layout(const CodePoint& point) noexcept {
  return point.valid && (point.value == '\n' || point.value == '\t');
}

bool stays(const CodePoint& point, Layout layout) noexcept {
  if (layout == Layout::kept && is_layout(point)) return true;
  return point.valid && !steers(point.value);
}

/// Returns how many printable ASCII characters `text` begins with.
std::size_t plain_prefix(std::string_view text) noexcept {
  const auto other = std::ranges::find_if(text, [](char c) { return c < 0x20 || c > 0x7e; });
  return static_cast<std::size_t>(other - text.begin());
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

CodePoint first_code_point(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1, true};
  const CodePoint broken{lead, 1, false};
  const std::size_t bytes = length_from(lead);
  if (bytes == 1 || bytes > text.size()) return broken;
  char32_t value = lead & (0x7fU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0U) != 0x80) return broken;
    value = (value << 6U) | (byte & 0x3fU);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[bytes] || value > 0x10ffff || surrogate) return broken;
  return {value, bytes, true};
}

bool is_in(std::span<const CodePointRange> ranges, char32_t point) noexcept {
  return std::ranges::any_of(
      ranges, [point](const Range& r) { return point >= r.first && point <= r.last; });
}

bool steers(char32_t point) noexcept {
  return is_in(kSteering, point);
}

std::string escaped(std::string_view text, Layout layout) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = plain_prefix(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const CodePoint point = first_code_point(text);
    if (stays(point, layout))
      out += text.substr(0, point.bytes);
    else if (layout != Layout::kept || !text.starts_with("\r\n"))
      out += escape_of(point);
    text.remove_prefix(point.bytes);
  }
  return out;
}

bool is_printable_ascii(std::string_view text) noexcept {
  return plain_prefix(text) == text.size();
}

bool needs_escape(std::string_view text) noexcept {
  for (;;) {
    text.remove_prefix(plain_prefix(text));
    if (text.empty()) return false;
    const CodePoint point = first_code_point(text);
    if (!stays(point, Layout::kept)) return true;
    text.remove_prefix(point.bytes);
  }
}

}  // namespace fastgpu
