#include "cli/ui/yaml.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "cli/ui/json_text.hpp"

namespace fastgpu::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Returns true if every reader takes the unquoted text for this string. Returns false in case of
/// doubt.
bool is_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kWords = {"true", "false", "null", "yes", "no",
                                                             "on",   "off",   "y",    "n"};
  if (text.empty()) return false;
  if (!is_ascii_letter(text.front()) && text.front() != '/') return false;
  if (contains(kWords, ascii_lower(text))) return false;
  return std::ranges::all_of(text, [](char c) {
    return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

std::string quoted(const std::string& text) {
  return json_text(Json(text), -1);
}

std::string scalar(const Json& value) {
  if (value.is_string() && is_plain(value.get_ref<const std::string&>()))
    return value.get<std::string>();
  return json_text(value, -1);
}

bool is_block(const Json& value) {
  return (value.is_object() || value.is_array()) && !value.empty();
}

void write(const Json& value, int depth, bool after_dash, std::string& out) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  bool first = true;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      out += first && after_dash ? "" : indent;
      first = false;
      out += (is_plain(key) ? key : quoted(key)) + ":";
      if (!is_block(item)) {
        out += " " + scalar(item) + "\n";
      } else {
        out += "\n";
        write(item, depth + 1, false, out);
      }
    }
    return;
  }
  for (const Json& item : value) {
    out += (first && after_dash ? "" : indent) + "- ";
    first = false;
    if (!is_block(item))
      out += scalar(item) + "\n";
    else
      write(item, depth + 1, true, out);
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  if (!is_block(value)) return scalar(value) + "\n";
  std::string out;
  write(value, 0, false, out);
  return out;
}

}  // namespace fastgpu::cli
