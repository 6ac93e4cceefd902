// What a path on a node means: it begins at the home directory, wherever sshd has put us.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace fastgpu::transfer {

/// "x", "~/x" and "~" below $HOME; rooted paths as they are.
inline std::filesystem::path below_home(const std::string& path) {
  const char* variable = std::getenv("HOME");
  const std::filesystem::path home = variable == nullptr ? "." : variable;
  if (path == "~" || path.empty()) return home;
  return home / (path.starts_with("~/") ? path.substr(2) : path);
}

}  // namespace fastgpu::transfer
