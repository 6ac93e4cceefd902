// The driver for a node: the branch, the release, the packages with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envs/drivers/package_manager.hpp"

namespace fastgpu::envs {

struct DriverChoice {
  int branch = 0;
  std::string wanted{};                 ///< "580", or "580.95.05" if that was requested.
  std::vector<std::string> packages{};  ///< The first one's version is the driver's.
  bool open_modules = true;
  bool needs_subnet_manager = false;  ///< NVLink's own, beside the fabric manager.
  bool is_installed = false;          ///< Installed by packages or by other means.
  std::string version{};              ///< "580.95.05"; empty while no version is known to fit.
  std::string package_version{};      ///< The version in the repository; empty if it is installed.

  /// Returns "580.95.05", or "580" while the repository is not known.
  const std::string& in_words() const noexcept { return version.empty() ? wanted : version; }
};

/// Returns the installed driver if it suffices, else the newest sufficient one in the repositories.
/// On a machine with NVSwitch only one with a fabric manager of exactly its version counts. Throws
/// as choose_branch.
DriverChoice choose_driver(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix);

/// Returns the versions of a package in the node's repositories, the newest first.
std::vector<std::string> candidates(const NodeFacts& facts, const std::string& package);
std::optional<std::string> installed_version(const NodeFacts& facts, const std::string& package);

/// Returns the possible names of the fabric manager's package.
std::vector<std::string> fabric_packages(int branch);
/// Returns the fabric manager of exactly that driver in the repositories.
std::optional<PackageVersion> find_fabric_manager(const NodeFacts& facts, int branch,
                                                  const std::string& driver);

}  // namespace fastgpu::envs
