// Bytes as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

/// Returns two lower-case digits for each byte of a range of bytes.
template <class Bytes>
std::string hex(const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    static_assert(sizeof byte == 1);
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

/// Returns true for a text of lower-case digits only; false for an empty one.
constexpr bool is_hex(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace fastgpu
