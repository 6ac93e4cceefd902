// Finds files that several packages of a build contain with different content.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fastgpu::agent {

struct SharedPath {
  std::string path;  ///< The path below the build.
  /// The packages in the order of their names. The last one's file is used.
  std::vector<std::string> packages;
};

/// Returns the paths, in order, for which the RECORDs of several packages in `version` have
/// different checksums. `packages` is the installation directory below `version`.
std::vector<SharedPath> shared_paths(const std::filesystem::path& version,
                                     const std::filesystem::path& packages);

/// Returns the packages of all these paths, each once, sorted by name.
std::vector<std::string> owners_of(const std::vector<SharedPath>& shared);

/// Returns the Python modules of these packages, as paths below the build.
std::vector<std::string> modules_of(const std::filesystem::path& version,
                                    const std::filesystem::path& packages,
                                    const std::vector<std::string>& names);

/// Returns a sentence for each set of packages: how many files they share, one of these files, and
/// the package whose file is used.
std::vector<std::string> describe(const std::vector<SharedPath>& shared);

}  // namespace fastgpu::agent
