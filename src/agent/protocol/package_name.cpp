#include "agent/protocol/package_name.hpp"

#include <algorithm>

namespace fastgpu::agent {
namespace {

bool is_between(char c) {
  return c == '-' || c == '_' || c == '.';
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_package_name(std::string_view text) {
  return !text.empty() && is_plain(text.front()) && is_plain(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_plain(c) || is_between(c); });
}

std::string normalized_package_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (!is_between(c))
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    else if (!out.ends_with('-'))
      out += '-';
  }
  return out;
}

}  // namespace fastgpu::agent
