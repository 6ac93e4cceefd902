#include "agent/environments/pylock.hpp"

#include <algorithm>

namespace fastgpu::agent {
namespace {

constexpr std::string_view kPackage = "[[packages]]\n";

/// Returns the quoted texts after each `key = `. Ours contain no escapes.
std::vector<std::string> values_in(std::string_view text, std::string_view key) {
  const std::string start = std::string(key) + " = \"";
  std::vector<std::string> values;
  for (auto at = text.find(start); at != text.npos; at = text.find(start, at)) {
    at += start.size();
    values.emplace_back(text.substr(at, text.find('"', at) - at));
  }
  return values;
}

}  // namespace

std::vector<LockedPackage> packages_in(std::string_view pylock) {
  std::vector<LockedPackage> packages;
  while (!pylock.empty()) {
    const std::string_view text = pylock.substr(0, pylock.find(kPackage, 1));
    pylock.remove_prefix(text.size());
    const auto names = values_in(text, "\nname");
    const auto versions = values_in(text, "\nversion");
    packages.push_back({.name = names.empty() ? "" : names.front(),
                        .version = versions.empty() ? "" : versions.front(),
                        .sums = values_in(text, "sha256"),
                        .text = std::string(text)});
    std::ranges::sort(packages.back().sums);
  }
  return packages;
}

std::string without_packages(std::string_view pylock, const std::set<std::string>& names) {
  std::string left;
  bool is_empty = true;
  for (const LockedPackage& package : packages_in(pylock)) {
    if (names.contains(package.name)) continue;
    left += package.text;
    is_empty = is_empty && package.name.empty();
  }
  return is_empty ? "" : left;
}

}  // namespace fastgpu::agent
