// Paths on a node. Relative paths start at the home directory, even if sshd starts elsewhere.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace fastgpu::transfer {

/// Returns "x", "~/x" and "~" as paths in $HOME. Returns absolute paths unchanged.
inline std::filesystem::path below_home(const std::string& path) {
  const char* variable = std::getenv("HOME");
  const std::filesystem::path home = variable == nullptr ? "." : variable;
  if (path == "~" || path.empty()) return home;
  return home / (path.starts_with("~/") ? path.substr(2) : path);
}

}  // namespace fastgpu::transfer
