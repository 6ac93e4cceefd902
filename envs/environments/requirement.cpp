#include "envs/environments/requirement.hpp"

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>

#include "agent/protocol/index_login.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kHash = "--hash";
constexpr std::size_t kMostShownText = 200;

std::string sha256_in(std::string_view hash) {
  constexpr std::string_view kKind = "sha256:";
  constexpr std::size_t kDigits = 64;
  const std::string sum = ascii_lower(hash.substr(std::min(kKind.size(), hash.size())));
  if (!hash.starts_with(kKind) || sum.size() != kDigits || !is_hex(sum))
    throw Error(ErrorKind::usage, "--hash=" + printable(hash) +
                                      " cannot be checked: write --hash=sha256: and 64 "
                                      "hexadecimal digits");
  return sum;
}

std::string project_in(std::string_view requirement) {
  return agent::normalized_package_name(requirement.substr(
      0, std::min(requirement.find_first_of(" \t[=<>!~;@(,"), requirement.size())));
}

int digit_of(char c) {
  if (is_ascii_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Returns the text with "%2B" as "+".
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 &&
                         digit_of(text[i + 2]) >= 0;
    out +=
        is_code ? static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2])) : text[i];
    if (is_code) i += 2;
  }
  return out;
}

/// Takes "#sha256=..." from the end of an address, as pip writes it.
void take_fragment(Requirement& requirement) {
  constexpr std::string_view kSum = "sha256=";
  const auto at = requirement.text.find('#');
  if (at == std::string::npos) return;
  const auto end = std::min(requirement.text.find_first_of(kBlanks, at), requirement.text.size());
  const std::string fragment = requirement.text.substr(at + 1, end - at - 1);
  if (!fragment.starts_with(kSum))
    throw Error(ErrorKind::usage, "'#" + printable(fragment) +
                                      "' behind the address of a wheel has no meaning here: only "
                                      "#sha256=... has");
  requirement.hashes.push_back(sha256_in("sha256:" + fragment.substr(kSum.size())));
  requirement.text.erase(at, end - at);
}

/// Returns the path in "file:dist/x.whl", "file:///home/ann/x.whl", "./x.whl" and "dist/x.whl";
/// empty for anything else.
std::string path_in(const std::string& text) {
  if (text.starts_with("file:///")) return decoded(text.substr(7));
  if (text.starts_with("file:") && !text.starts_with("file://")) return text.substr(5);
  const bool names_wheel = text.ends_with(".whl") || text.find(".whl[") != std::string::npos;
  const bool is_path = text.starts_with('.') || text.starts_with('/') ||
                       (names_wheel && text.find("://") == std::string::npos);
  return is_path ? text : "";
}

/// Removes "[cuda]" from the end of `text`, or from what is before `end`, and returns it.
std::string take_extras(std::string& text, std::size_t end) {
  const auto last = text.find_last_not_of(kBlanks, end == 0 ? 0 : end - 1);
  if (last == std::string::npos || text[last] != ']') return "";
  const auto first = text.rfind('[', last);
  if (first == std::string::npos) return "";
  std::string extras = text.substr(first, last + 1 - first);
  text.erase(first, last + 1 - first);
  return extras;
}

[[noreturn]] void refuse_wheel(const std::string& place) {
  throw Error(ErrorKind::usage,
              "'" + printable(place, kMostShownText) +
                  "' is not a wheel: make one of a source by `pip wheel --no-deps "
                  "DIR`, and name that as ./NAME-1.0-py3-none-any.whl");
}

/// Reads a wheel that the text names in place of a version: on this machine, or at an address.
void take_file(Requirement& requirement) {
  const std::string& text = requirement.text;
  const auto at = text.find('@');
  const bool has_name = at != std::string::npos && text.find_first_of("/;") > at;
  const auto begin = has_name ? text.find_first_not_of(kBlanks, at + 1) : 0;
  if (begin == std::string::npos) return;
  const auto marker = std::min(text.find(" ;", begin), text.size());
  std::string place = text.substr(begin, marker - begin);
  if (has_name && (place.starts_with("https://") || place.starts_with("http://"))) {
    requirement.url = place.substr(0, place.find_first_of(kBlanks));
    return;
  }
  if (path_in(place).empty()) return;
  std::string before = text.substr(0, has_name ? at : 0);
  requirement.extras =
      has_name ? take_extras(before, before.size()) : take_extras(place, place.size());
  requirement.wheel = path_in(place);
  requirement.marker = text.substr(marker);
  const std::string name = requirement.wheel.substr(requirement.wheel.rfind('/') + 1);
  if (!name.ends_with(".whl") || std::ranges::count(name, '-') < 4) refuse_wheel(place);
  const std::string project = agent::normalized_package_name(name.substr(0, name.find('-')));
  if (has_name && project_in(text) != project)
    throw Error(ErrorKind::usage,
                "'" + printable(text, kMostShownText) + "' names a wheel of " + printable(project));
  requirement.project = project;
  requirement.text = requirement.at("file:" + requirement.wheel);
}

}  // namespace

std::string Requirement::at(const std::string& place) const {
  return project + extras + " @ " + place + marker;
}

Requirement parse_requirement(std::string_view line) {
  Requirement out;
  const auto words = split_words(line, kBlanks);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (!word.starts_with('-')) {
      append_item(out.text, word, " ");
      continue;
    }
    const std::string_view option = word.substr(0, word.find('='));
    if (option != kHash)
      throw Error(ErrorKind::usage, "the option '" + printable(option) + "' in '" +
                                        printable(agent::hide_logins(line), kMostShownText) +
                                        "' has no effect here: remove it");
    const bool is_apart = option.size() == word.size() && i + 1 < words.size();
    word = is_apart ? words[++i] : word.substr(std::min(option.size() + 1, word.size()));
    out.hashes.push_back(sha256_in(word));
  }
  take_fragment(out);
  out.project = project_in(out.text);
  take_file(out);
  return out;
}

void check_comparisons(const Requirement& requirement) {
  static const std::regex comparison(
      R"(\s*(===|~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.*+!_-]*\s*)");
  const std::string_view text = requirement.text;
  if (!requirement.wheel.empty() || !requirement.url.empty() || text.find('@') != text.npos) return;
  std::string_view rest = text.substr(0, text.find(';'));
  rest.remove_prefix(std::min(rest.find_first_of(" \t[=<>!~("), rest.size()));
  if (const auto extras = rest.find(']'); extras != rest.npos) rest.remove_prefix(extras + 1);
  while (!rest.empty() && (kBlanks.find(rest.back()) != rest.npos || rest.back() == ')'))
    rest.remove_suffix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t("), rest.size()));
  if (rest.empty()) return;
  for (const std::string_view part : split(rest, ',')) {
    if (part.find_first_not_of(kBlanks) == part.npos) continue;  // A comma at the end is allowed.
    if (!std::regex_match(std::string(part), comparison))
      throw Error(ErrorKind::usage,
                  "'" + printable(text, kMostShownText) + "': '" +
                      printable(part.substr(part.find_first_not_of(kBlanks)), kMostShownText) +
                      "' is not a comparison with a version: write it like numpy>=2,<3, with ==, "
                      "!=, <=, >=, <, > or ~=");
  }
}

}  // namespace fastgpu::envs
