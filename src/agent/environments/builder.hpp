// Solves requirements into packages, and installs packages into an environment, on this node.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/environments/environment_call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

/// Called when all packages that are installed so far are complete, and no package is being
/// installed. `known` has checksums of files in these packages that need not be read.
using OnPart = std::function<void(const KnownSums& known)>;

/// The result for files that several packages contain.
struct SettledFiles {
  std::vector<std::string> warnings;
  /// Paths below the build that may have changed since on_part was called for them.
  std::vector<std::string> modules;
};

class PackageBuilder {
 public:
  virtual ~PackageBuilder() = default;

  /// Returns the packages for the request. Installs nothing. Sets the solution, the Python, and the
  /// builder's own name. Throws not_found for a missing Python, timeout for an index that does not
  /// answer, and remote for a request that cannot be solved.
  virtual SolveAnswer solve(const SolveRequest& request, Listener& listener) = 0;

  /// Builds the environment in `version`, which does not exist yet, but whose parent does. Checks
  /// every package by the SHA-256 in the solution. Calls `on_part` for each part, including the
  /// last one. Throws conflict if the Python is another one, and the errors of solve().
  virtual void make(const BuildRequest& request, const std::filesystem::path& version,
                    Listener& listener, const OnPart& on_part) = 0;

  /// Called after `make`. If several packages contain a file with different content, keeps the file
  /// of the last wheel by name, so that the order of installation does not matter. Throws
  /// conflict for a package that cannot be installed again.
  virtual SettledFiles settle(const BuildRequest& /*request*/,
                              const std::filesystem::path& /*version*/, Listener& /*listener*/) {
    return {};
  }
};

/// Returns the builder of this name, which may use `cache`. Throws usage for an unknown name.
std::unique_ptr<PackageBuilder> package_builder(const BuilderChoice& choice,
                                                const std::filesystem::path& cache);

std::unique_ptr<PackageBuilder> uv_builder(const BuilderChoice& choice,
                                           const std::filesystem::path& cache);
std::unique_ptr<PackageBuilder> conda_builder(const BuilderChoice& choice,
                                              const std::filesystem::path& cache);

}  // namespace fastgpu::agent
