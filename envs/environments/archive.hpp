// An archive of an environment, as `env pack` makes them: all of it is checked here, before a node
// hears of it.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_set>

#include "base/cancel.hpp"
#include "base/units.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

struct EnvironmentArchive {
  std::filesystem::path file;
  EnvironmentLock lock;
  std::string prefix;    ///< It works there alone.
  std::string version;   ///< Of the build in it.
  std::string manifest;  ///< Its sum.
  Bytes size{};          ///< Of all files of the build.
  /// What Python kept while the build was in use, and is no part of it.
  std::unordered_set<std::string> left_out{};
  /// Files that come once more under other names. Both below the build.
  std::unordered_set<std::string> linked{};
};

/// Reads all of it and keeps nothing. Throws usage, naming the file, where it is not a complete
/// environment and nothing else: one folder with all that its manifest names, as it says, whose
/// links do not lead out of it, but for that to the nodes' Python.
EnvironmentArchive check_archive(const std::filesystem::path& file, const Cancel& cancel);

/// Throws usage, saying what would help, where environments do not lie at `prefix`.
void check_prefix(const EnvironmentArchive& archive, const std::string& prefix);

/// Whether a link at `path` below the directory `build` leads to a place below it, or below the
/// directory around it, whatever other links like it there are on the way.
bool stays_inside(const std::filesystem::path& build, const std::string& path,
                  const std::string& target);

}  // namespace fastgpu::envs
