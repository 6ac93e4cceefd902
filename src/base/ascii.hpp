// Letters and digits of ASCII, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

constexpr bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_ascii_letter_or_digit(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c);
}

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Returns the text with small letters.
inline std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = ascii_lower(c);
  return out;
}

/// Returns the text with capital letters.
inline std::string ascii_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = ascii_upper(c);
  return out;
}

}  // namespace fastgpu
