#include "agent/protocol/start_lines.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::string_view kNode = "node ";
constexpr std::string_view kNotBegun = " has not begun: ";
constexpr std::string_view kWaiting = "still waiting for node ";
constexpr std::string_view kToBegin = " to begin";

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string failed_start_line(const FailedStart& start) {
  return std::string(kNode) + start.node + std::string(kNotBegun) +
         std::string(first_line(start.why)) + "\n";
}

std::string late_start_line(const std::string& node) {
  return std::string(kWaiting) + node + std::string(kToBegin) + "\n";
}

std::vector<FailedStart> parse_failed_starts(std::string_view words) {
  std::vector<FailedStart> starts;
  for (const std::string_view line : split(words, '\n')) {
    const auto at = line.find(kNotBegun);
    if (!line.starts_with(kNode) || at == line.npos || at <= kNode.size()) continue;
    FailedStart start{std::string(line.substr(kNode.size(), at - kNode.size())),
                      std::string(line.substr(at + kNotBegun.size()))};
    if (!contains(starts, start.node, &FailedStart::node)) starts.push_back(std::move(start));
  }
  return starts;
}

std::set<std::string> parse_late_starts(std::string_view words) {
  std::set<std::string> nodes;
  for (std::string_view line : split(words, '\n')) {
    if (!line.starts_with(kWaiting) || !line.ends_with(kToBegin)) continue;
    line.remove_prefix(kWaiting.size());
    if (line.size() <= kToBegin.size()) continue;
    line.remove_suffix(kToBegin.size());
    nodes.emplace(line);
  }
  return nodes;
}

}  // namespace fastgpu::agent
