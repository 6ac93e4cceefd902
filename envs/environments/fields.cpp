#include "envs/environments/fields.hpp"

#include <algorithm>

#include "agent/protocol/index_login.hpp"
#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "base/json.hpp"
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
      std::ranges::all_of(text, [](char c) { return is_ascii_digit(c) || c == '.'; });
  if (!is_version)
    throw value.error(std::string("must be a version such as ") + example + ", not '" +
                      printable(text) + "'");
  return text;
}

std::string url_of(const Value& value, const char* what) {
  std::string text = line_of(value);
  check_url(value, text, what);
  return text;
}

void check_url(const Value& value, const std::string& text, const char* what) {
  const std::string shown = "'" + printable(agent::hide_logins(text)) + "'";
  if (!is_url(text)) throw value.error(shown + " is not an address of " + what);
  if (agent::has_login(text))
    throw value.error(shown + " has a user name in it, which would be stored on all nodes");
  const auto begin = text.find("://") + 3;
  const std::string host = text.substr(begin, text.find_first_of("/?#", begin) - begin);
  const auto colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find(']', colon) == host.npos;
  const bool is_port = has_port && host.find_first_not_of("0123456789", colon + 1) == host.npos;
  if (host.empty() || colon == 0 || (has_port && !is_port))  // "user:pass/word@host"
    throw value.error(std::string("names no host and port of ") + what +
                      "; in a password write '/', '?', '#' and '@' as %2F, %3F, %23 and %40");
}

std::string sha256_of(const Value& value) {
  constexpr std::size_t kDigits = 64;
  std::string text = value.text();
  if (text.size() != kDigits || !is_hex(text))
    throw value.error("'" + printable(text) + "' is not a SHA-256 of 64 hexadecimal digits");
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
