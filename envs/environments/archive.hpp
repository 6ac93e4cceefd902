// An archive of an environment, made by `env pack`: it is checked completely here, before a node
// receives it.
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
  std::string prefix;    ///< The only place at which it works.
  std::string version;   ///< The version of the build in it.
  std::string manifest;  ///< The SHA-256 of the manifest.
  Bytes size{};          ///< The size of all files of the build.
  /// The files that Python wrote while the build was in use, which do not belong to it.
  std::unordered_set<std::string> left_out{};
  /// The files that occur again under other names. Both paths are below the build.
  std::unordered_set<std::string> linked{};
};

/// Reads the whole archive and keeps nothing. Throws usage, naming the file, unless it is one
/// complete environment. That is one folder with every file of its manifest and no others. Its
/// links stay inside, except for that to the nodes' Python.
EnvironmentArchive check_archive(const std::filesystem::path& file, const Cancel& cancel);

/// Throws usage, with advice, unless `prefix` is the archive's prefix.
void check_prefix(const EnvironmentArchive& archive, const std::string& prefix);

/// Returns whether a link at `path` below the directory `build` leads to a place below it, or below
/// its parent. Other such links on the way are allowed for.
bool stays_inside(const std::filesystem::path& build, const std::string& path,
                  const std::string& target);

}  // namespace fastgpu::envs
