// Which Python this node has in its PATH, where uv looks for one, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::agent {

struct WantedPython {
  std::string version;    ///< "3.11": one of these.
  bool or_newer = false;  ///< Or any that is newer.
};

struct FoundPython {
  std::filesystem::path interpreter;
  std::string version;  ///< "3.11.2"
};

/// The first that runs.
std::optional<FoundPython> find_python(const WantedPython& wanted);

}  // namespace fastgpu::agent
