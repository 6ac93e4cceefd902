#include "transfer/ignore_rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <span>

#include "base/split.hpp"
#include "base/utf8.hpp"

namespace fastgpu::transfer {
namespace {

constexpr const char* kAnyDepth = "**";

using Parts = std::span<const std::string>;

std::vector<std::string> parts_of(std::string_view path) {
  const auto parts = split_words(path, "/");
  return {parts.begin(), parts.end()};
}

/// Returns true if the rule matches the path, part by part. Takes at most as many steps as the
/// product of both lengths.
bool matches(Parts rule, Parts path) {
  // reached[i]: the rule's parts so far match the first i parts of the path.
  std::vector<char> reached(path.size() + 1, 0);
  reached[0] = 1;
  for (std::size_t at = 0; at < rule.size(); ++at) {
    std::vector<char> next(path.size() + 1, 0);
    if (rule[at] == kAnyDepth) {
      // "a/**" matches the content of a, but not a itself.
      const std::size_t least = at + 1 == rule.size() ? 1 : 0;
      bool is_reached = false;
      for (std::size_t i = 0; i <= path.size(); ++i) {
        if (i >= least) is_reached = is_reached || reached[i - least] != 0;
        next[i] = is_reached ? 1 : 0;
      }
    } else {
      for (std::size_t i = 0; i < path.size(); ++i)
        if (reached[i] != 0 && ::fnmatch(rule[at].c_str(), path[i].c_str(), 0) == 0)
          next[i + 1] = 1;
    }
    reached = std::move(next);
  }
  return reached[path.size()] != 0;
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ "))
    line.remove_suffix(1);
  return line;
}

}  // namespace

IgnoreRules::Rule IgnoreRules::rule_of(std::string_view line) {
  Rule rule;
  line = without_end(line);
  if (line.starts_with('#')) return rule;
  if (line.starts_with('!')) {
    rule.includes = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.is_for_directories = true;
    line.remove_suffix(1);
  }
  const bool is_a_name = line.find('/') == line.npos;
  rule.parts = parts_of(line);
  if (is_a_name && !rule.parts.empty()) rule.parts.insert(rule.parts.begin(), kAnyDepth);
  return rule;
}

IgnoreRules IgnoreRules::parse(std::string_view text) {
  IgnoreRules rules;
  for (const std::string_view line : split_lines(without_byte_order_mark(text))) {
    Rule rule = rule_of(line);
    if (!rule.parts.empty()) rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

bool IgnoreRules::leaves_out(std::string_view path, bool is_directory) const {
  const std::vector<std::string> parts = parts_of(path);
  const auto last = std::find_if(rules_.rbegin(), rules_.rend(), [&](const Rule& rule) {
    return (is_directory || !rule.is_for_directories) && matches(rule.parts, parts);
  });
  return last != rules_.rend() && !last->includes;
}

}  // namespace fastgpu::transfer
