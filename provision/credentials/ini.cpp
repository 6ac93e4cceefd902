#include "provision/credentials/ini.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/split.hpp"
#include "base/utf8.hpp"
#include "http/urls.hpp"

namespace fastgpu::provision::credentials {
namespace {

[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& why) {
  throw Error(ErrorKind::usage, name + ", line " + std::to_string(line) + ": " + why);
}

std::string_view without_ends(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_passed_over(std::string_view line) {
  return trimmed(line).empty() || std::string_view(" \t#;").find(line[0]) != line.npos;
}

}  // namespace

Sections parse_ini(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  Sections sections;
  Section* current = nullptr;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const std::string_view line = without_ends(whole);
    if (is_passed_over(line)) continue;
    if (line.starts_with('[')) {
      const std::size_t end = line.find(']');
      if (end == line.npos) refuse(name, number, "a section without its ']'");
      current = &sections[std::string(trimmed(line.substr(1, end - 1)))];
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == line.npos) refuse(name, number, "neither [section] nor key = value");
    if (current == nullptr) refuse(name, number, "a setting before the first [section]");
    (*current)[ascii_lower(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
  }
  return sections;
}

}  // namespace fastgpu::provision::credentials
