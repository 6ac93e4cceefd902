// Which driver a node gets: the branch, the release, the packages that bring it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envs/drivers/package_manager.hpp"

namespace fastgpu::envs {

struct DriverChoice {
  int branch = 0;
  std::string wanted{};                 ///< "580", or "580.95.05" where that was asked for.
  std::vector<std::string> packages{};  ///< The first one's version is the driver's.
  bool open_modules = true;
  bool needs_subnet_manager = false;  ///< NVLink's own, beside the fabric manager.
  bool is_installed = false;          ///< By packages or by other means: it is there.
  std::string version{};              ///< "580.95.05"; empty while nothing is known to fit.
  std::string package_version{};      ///< In the repository; empty where it is installed.

  /// "580.95.05", or "580" while the repository is not known.
  const std::string& in_words() const noexcept { return version.empty() ? wanted : version; }
};

/// The driver that is there where it will do, else the newest in the repositories that will; on a
/// machine with NVSwitch only one that has a fabric manager of exactly its version. Throws as
/// choose_branch.
DriverChoice choose_driver(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix);

/// The versions of a package that the node's repositories have, the newest first.
std::vector<std::string> candidates(const NodeFacts& facts, const std::string& package);
std::optional<std::string> installed_version(const NodeFacts& facts, const std::string& package);

/// The names that the fabric manager's package goes by.
std::vector<std::string> fabric_packages(int branch);
/// The fabric manager of exactly that driver in the repositories.
std::optional<PackageVersion> find_fabric_manager(const NodeFacts& facts, int branch,
                                                  const std::string& driver);

}  // namespace fastgpu::envs
