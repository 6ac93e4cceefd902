#include "agent/protocol/package_name.hpp"

#include <algorithm>

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

}  // namespace fastgpu::agent
