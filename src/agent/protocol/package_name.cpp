#include "agent/protocol/package_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/ascii.hpp"

namespace fastgpu::agent {
namespace {

bool is_between(char c) {
  return c == '-' || c == '_' || c == '.';
}

}  // namespace

bool is_package_name(std::string_view text) {
  return !text.empty() && is_ascii_letter_or_digit(text.front()) &&
         is_ascii_letter_or_digit(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_ascii_letter_or_digit(c) || is_between(c);
         });
}

std::string normalized_package_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (!is_between(c))
      out += ascii_lower(c);
    else if (!out.ends_with('-'))
      out += '-';
  }
  return out;
}

bool is_prerelease(std::string_view version) {
  version = version.substr(0, version.find('+'));  // A local version follows.
  constexpr std::array<std::string_view, 8> kMarks = {"a",     "b",    "c",   "rc",
                                                      "alpha", "beta", "pre", "dev"};
  std::string letters;
  bool is_after_digit = false;
  for (std::size_t i = 0; i <= version.size(); ++i) {
    const char c = i < version.size() ? ascii_lower(version[i]) : '.';
    if (c >= 'a' && c <= 'z') {
      letters += c;
      continue;
    }
    if (is_after_digit && std::ranges::find(kMarks, letters) != kMarks.end()) return true;
    letters.clear();
    is_after_digit = is_after_digit || (c >= '0' && c <= '9');
  }
  return false;
}

}  // namespace fastgpu::agent
