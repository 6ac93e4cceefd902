// Finds a Python in this node's PATH, where uv searches, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::agent {

struct WantedPython {
  std::string version;    ///< "3.11": any of these.
  bool or_newer = false;  ///< Accepts newer ones, too.
};

struct FoundPython {
  std::filesystem::path interpreter;
  std::string version;  ///< "3.11.2"
};

/// Returns the first one that runs.
std::optional<FoundPython> find_python(const WantedPython& wanted);

}  // namespace fastgpu::agent
