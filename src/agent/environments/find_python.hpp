// Finds a Python in this node's PATH, which uv searches, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::agent {

struct WantedPython {
  std::string version;    ///< "3.11" accepts every 3.11.
  bool or_newer = false;  ///< Accepts newer versions, too.
};

struct FoundPython {
  std::filesystem::path interpreter;
  std::string version;  ///< "3.11.2"
};

/// Returns the first suitable Python that runs; absent if none does.
std::optional<FoundPython> find_python(const WantedPython& wanted);

}  // namespace fastgpu::agent
