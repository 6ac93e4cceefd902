// The tools that build packages from source: exactly setuptools and wheel, with pinned versions.
#pragma once

#include <filesystem>
#include <string>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

/// Returns the solution for these tools and that Python, as a pylock.toml. Throws as Uv::run(),
/// with the purpose in the message.
std::string solve_build_tools(const Uv& uv, const std::string& python, const Listener& listener);

/// A virtual environment with only these tools. The destructor removes it.
class BuildTools {
 public:
  /// Installs the tools in `pylock`, each checked by its SHA-256. `directory` is replaced.
  BuildTools(const Uv& uv, const std::string& python, const std::string& pylock,
             std::filesystem::path directory, const Listener& listener);
  ~BuildTools();
  BuildTools(const BuildTools&) = delete;
  BuildTools& operator=(const BuildTools&) = delete;

  std::string python() const { return (directory_ / "bin/python").string(); }

 private:
  std::filesystem::path directory_;
};

}  // namespace fastgpu::agent
