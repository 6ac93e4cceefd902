#include "agent/protocol/records.hpp"

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

std::string nested_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += '\\';
    if (c == '\0') out += "\\0";
    if (c != '\0') out += c;
  }
  return out;
}

std::string text_of_nested(std::string_view value, const std::string& what) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\') {
      out += value[i];
      continue;
    }
    const char escaped = ++i < value.size() ? value[i] : ' ';
    if (escaped != '\\' && escaped != '0')
      throw Error(ErrorKind::remote, what + ": '" + printable(value) + "' has a broken escape");
    out += escaped == '0' ? '\0' : escaped;
  }
  return out;
}

}  // namespace

Records::Records(std::string_view text, std::string what) : what_(std::move(what)) {
  while (!text.empty()) {
    const auto end = text.find('\0');
    if (end == std::string_view::npos) throw Error(ErrorKind::remote, what_ + " is cut off");
    const std::string_view entry = text.substr(0, end);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos)
      throw Error(ErrorKind::remote, what_ + ": '" + printable(entry) + "' has no '='");
    add(entry.substr(0, equals), entry.substr(equals + 1));
    text.remove_prefix(end + 1);
  }
}

void Records::add(std::string_view key, std::string_view value) {
  entries_.emplace_back(key, value.substr(0, value.find('\0')));
}

void Records::add(std::string_view key, std::int64_t value) {
  add(key, std::to_string(value));
}

void Records::add(std::string_view key, const Records& records) {
  add(key, nested_text(records.text()));
}

std::string Records::text() const {
  std::string out;
  for (const auto& [key, value] : entries_)
    out.append(key).append("=").append(value) += '\0';
  return out;
}

std::string Records::get(std::string_view key) const {
  for (const auto& [name, value] : entries_)
    if (name == key) return value;
  throw Error(ErrorKind::remote, what_ + " has no '" + std::string(key) + "'");
}

std::int64_t Records::number(std::string_view key) const {
  const std::string text = get(key);
  if (const auto value = to_number<std::int64_t>(text)) return *value;
  throw Error(ErrorKind::remote,
              what_ + ": " + std::string(key) + " '" + printable(text) + "' is not a number");
}

std::vector<std::string> Records::all(std::string_view key) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : entries_)
    if (name == key) out.push_back(value);
  return out;
}

std::vector<Records> Records::nested(std::string_view key, const std::string& what) const {
  std::vector<Records> out;
  for (const std::string& value : all(key))
    out.emplace_back(text_of_nested(value, what), what);
  return out;
}

}  // namespace fastgpu::agent
