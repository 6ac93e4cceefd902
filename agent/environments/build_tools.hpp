// What packages are built with from source: setuptools and wheel, pinned, and nothing else.
#pragma once

#include <filesystem>
#include <string>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

/// What they come to with that Python, as a pylock.toml. Throws as Uv::run, saying what for.
std::string solve_build_tools(const Uv& uv, const std::string& python, const Listener& listener);

/// A virtual environment that has them and no other packages, gone with this object.
class BuildTools {
 public:
  /// `pylock`: which ones, each with its sum. `directory` is made anew.
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
