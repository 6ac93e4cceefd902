// Splits a pylock.toml that the launcher wrote for uv into packages.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

struct LockedPackage {
  std::string name;  ///< Empty for the text before the first package.
  std::string version;
  std::vector<std::string> sums;  ///< The SHA-256 of its artefacts and of its build tools, sorted.
  std::string text;
};

std::vector<LockedPackage> packages_in(std::string_view pylock);

/// Returns the file without the packages of these names; "" if no package is left.
std::string without_packages(std::string_view pylock, const std::set<std::string>& names);

}  // namespace fastgpu::agent
