// Who turns requirements into packages, and packages into an environment, on this node.
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

/// Told that all packages which were installed so far are complete, while none is being installed;
/// and the sums of those files of theirs that need not be read.
using OnPart = std::function<void(const KnownSums& known)>;

/// What was done about files that several packages have.
struct Settled {
  std::vector<std::string> warnings;
  std::vector<std::string> modules;  ///< Below the build: may have changed since on_part.
};

class PackageBuilder {
 public:
  virtual ~PackageBuilder() = default;

  /// Which packages the request comes to; installs nothing. Fills in what the builder knows: the
  /// solution, the Python, its own name. Throws not_found for a Python that is not there; timeout
  /// for an index that says nothing; remote for what cannot be solved.
  virtual SolveAnswer solve(const SolveRequest& request, Listener& listener) = 0;

  /// Makes the environment in `version`, which does not exist yet but its parent does. Every
  /// package has the sum that the solution says. `on_part` hears of each part, the last one too.
  /// Throws conflict for another Python, and as solve.
  virtual void make(const BuildRequest& request, const std::filesystem::path& version,
                    Listener& listener, const OnPart& on_part) = 0;

  /// After `make`: of files that several packages have with different content, the one of the last
  /// package by name is there from then on, however they were installed. Throws conflict for one
  /// that cannot be installed again.
  virtual Settled settle(const BuildRequest& /*request*/, const std::filesystem::path& /*version*/,
                         Listener& /*listener*/) {
    return {};
  }
};

/// `cache` is the builder's to use. Throws usage for a builder that is not known.
std::unique_ptr<PackageBuilder> package_builder(const BuilderChoice& choice,
                                                const std::filesystem::path& cache);

std::unique_ptr<PackageBuilder> uv_builder(const BuilderChoice& choice,
                                           const std::filesystem::path& cache);
std::unique_ptr<PackageBuilder> conda_builder(const BuilderChoice& choice,
                                              const std::filesystem::path& cache);

}  // namespace fastgpu::agent
