// Solves requirements into packages, and installs packages into an environment, on this node.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

/// Called when all packages installed so far are complete, and none is being installed. `known` has
/// the sums of those of their files that need not be read.
using OnPart = std::function<void(const KnownSums& known)>;

/// The result for files that several packages have.
struct Settled {
  std::vector<std::string> warnings;
  /// The paths below the build that may have changed since on_part.
  std::vector<std::string> modules;
};

class PackageBuilder {
 public:
  virtual ~PackageBuilder() = default;

  /// Returns the packages for the request; installs nothing. Fills in the solution, the Python, and
  /// the builder's own name. Throws not_found for a missing Python; timeout for an index without an
  /// answer; remote for an unsolvable request.
  virtual SolveAnswer solve(const SolveRequest& request, Listener& listener) = 0;

  /// Makes the environment in `version`, which does not exist yet but its parent does. Every
  /// package is checked by its SHA-256 in the solution. Calls `on_part` for each part, the last one
  /// too. Throws conflict for another Python, and as solve.
  virtual void make(const BuildRequest& request, const std::filesystem::path& version,
                    Listener& listener, const OnPart& on_part) = 0;

  /// Settles, after `make`, the files that several packages have with different content. The one of
  /// the last package by name stays, in any order of installation. Throws conflict for one that
  /// cannot be installed again.
  virtual Settled settle(const BuildRequest& /*request*/, const std::filesystem::path& /*version*/,
                         Listener& /*listener*/) {
    return {};
  }
};

/// Returns the builder, which may use `cache`. Throws usage for an unknown one.
std::unique_ptr<PackageBuilder> package_builder(const BuilderChoice& choice,
                                                const std::filesystem::path& cache);

std::unique_ptr<PackageBuilder> uv_builder(const BuilderChoice& choice,
                                           const std::filesystem::path& cache);
std::unique_ptr<PackageBuilder> conda_builder(const BuilderChoice& choice,
                                              const std::filesystem::path& cache);

}  // namespace fastgpu::agent
