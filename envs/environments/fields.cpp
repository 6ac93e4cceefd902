#include "envs/environments/fields.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.hpp"

namespace fastgpu::envs {

using config::Value;

std::string line_of(const Value& value) {
  std::string text = value.text();
  const bool broken = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (text.empty() || broken)
    throw value.error("must be one line of text, not '" + printable(text) + "'");
  return text;
}

std::vector<std::string> lines_of(const Value& value) {
  std::vector<std::string> lines;
  for (const Value& item : value.list())
    lines.push_back(line_of(item));
  return lines;
}

std::string release_of(const Value& value, const char* example) {
  std::string text = line_of(value);
  const bool is_version =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!is_version)
    throw value.error(std::string("must be a version such as ") + example + ", not '" +
                      printable(text) + "'");
  return text;
}

std::string url_of(const Value& value, const char* what) {
  std::string text = line_of(value);
  if (!is_url(text)) throw value.error("'" + printable(text) + "' is no address of " + what);
  return text;
}

std::string sha256_of(const Value& value) {
  constexpr std::size_t kDigits = 64;
  std::string text = value.text();
  if (text.size() != kDigits || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw value.error("'" + printable(text) + "' is no SHA-256 of 64 hexadecimal digits");
  return text;
}

bool is_url(std::string_view text) noexcept {
  return text.starts_with("https://") || text.starts_with("http://");
}

std::string yaml_scalar(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string yaml_list(const char* key, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string out = std::string(key) + ":\n";
  for (const std::string& item : items)
    out += "  - " + yaml_scalar(item) + "\n";
  return out;
}

}  // namespace fastgpu::envs
