#include "base/json_bounds.hpp"

namespace fastgpu {
namespace {

constexpr int kMostDepth = 64;
constexpr int kMostValues = 500'000;
constexpr std::size_t kMostBytes = 256UL << 20;

/// Returns the place of the quote that ends the string beginning at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

}  // namespace

std::string json_excess(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == text.npos || (text[first] != '{' && text[first] != '[')) return "";
  if (text.size() > kMostBytes) return "more than 256 MiB";
  int depth = 0;
  int values = 0;
  for (std::size_t i = first; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') i = end_of_string(text, i);
    if (c == ']' || c == '}') --depth;
    if (c == '[' || c == '{') ++depth;
    if (c == '[' || c == '{' || c == ',') ++values;
    if (depth > kMostDepth) return "brackets more than 64 deep";
    if (values > kMostValues) return "more than 500,000 values";
  }
  return "";
}

}  // namespace fastgpu
