#include "base/quote.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace fastgpu {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kSafe = "_-+=./:,@%";
  return is_ascii_letter_or_digit(c) || kSafe.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quote(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_join(std::span<const std::string> words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_quote(word);
  }
  return out;
}

}  // namespace fastgpu
