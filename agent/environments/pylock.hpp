// A pylock.toml as the launcher writes it for uv: taken apart by package.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

struct LockedPackage {
  std::string name;  ///< Empty: what stands before the first package.
  std::string version;
  std::vector<std::string> sums;  ///< SHA-256 of its artefacts, and of what builds it, sorted.
  std::string text;
};

std::vector<LockedPackage> packages_in(std::string_view pylock);

/// The same without the packages of these names; empty where none is left.
std::string without_packages(std::string_view pylock, const std::set<std::string>& names);

}  // namespace fastgpu::agent
