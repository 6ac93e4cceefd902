// Paths on a node: they begin at the home directory, whatever directory sshd starts in.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace fastgpu::transfer {

/// Returns "x", "~/x" and "~" below $HOME; rooted paths unchanged.
inline std::filesystem::path below_home(const std::string& path) {
  const char* variable = std::getenv("HOME");
  const std::filesystem::path home = variable == nullptr ? "." : variable;
  if (path == "~" || path.empty()) return home;
  return home / (path.starts_with("~/") ? path.substr(2) : path);
}

}  // namespace fastgpu::transfer
