// Files that several packages of a build bring, with different content.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fastgpu::agent {

struct SharedPath {
  std::string path;                   ///< Below the build.
  std::vector<std::string> packages;  ///< That have it, by name; the last one's is to be there.
};

/// The paths that the RECORDs of the packages in `version` name with different sums, in order.
/// `packages` is where they are installed, below `version`.
std::vector<SharedPath> shared_paths(const std::filesystem::path& version,
                                     const std::filesystem::path& packages);

/// The packages of all of these paths, each once, by name.
std::vector<std::string> owners_of(const std::vector<SharedPath>& shared);

/// The Python modules of these packages, as paths below the build.
std::vector<std::string> modules_of(const std::filesystem::path& version,
                                    const std::filesystem::path& packages,
                                    const std::vector<std::string>& names);

/// A sentence for each set of packages: how many files they share, one of these, and whose is used.
std::vector<std::string> describe(const std::vector<SharedPath>& shared);

}  // namespace fastgpu::agent
