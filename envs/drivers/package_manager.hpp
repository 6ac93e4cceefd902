// The commands of apt and of dnf that a plan's steps run to install packages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "envs/drivers/recipe.hpp"
#include "envs/drivers/step.hpp"

namespace fastgpu::envs {

/// A file that a step writes to the node.
struct NodeFile {
  std::string path;
  std::string content;
};

/// Returns a command that writes the file atomically, with mode 0644.
Argv write_file(const NodeFile& file);

/// Returns true if the node has the file with this content.
bool has_file(const NodeFacts& facts, const NodeFile& file);

struct PackageVersion {
  std::string name;
  std::string version{};  ///< The complete version; empty: the repository's own choice.
};

class PackageManager {
 public:
  virtual ~PackageManager() = default;

  /// Returns the commands to run after an interrupted installation.
  virtual std::vector<Argv> repair() const = 0;
  /// Returns the files that keep the system from installing by itself meanwhile. The last one is
  /// written once the others are in force, so that it confirms all of them.
  virtual std::vector<NodeFile> hold_files() const = 0;
  /// Returns the commands that put the others in force, or undo them once they are gone; empty if
  /// their presence is enough.
  virtual std::vector<Argv> reload_hold() const = 0;
  /// Returns the files for the vendor's repository at `url`, signed by `key`.
  virtual std::vector<NodeFile> repository_files(const std::string& url,
                                                 const PinnedKey& key) const = 0;
  virtual const PinnedKey& key(const Recipe& recipe) const = 0;
  /// Returns the command that reads the vendor's repository again, or the distribution's.
  virtual Argv read_vendor_index() const = 0;
  virtual Argv read_distribution_index() const = 0;
  /// Returns the files that keep the driver's packages at that version; empty if exact versions are
  /// enough.
  virtual std::vector<NodeFile> pin_files(const std::string& version) const = 0;
  /// Returns the commands to run before the driver's packages of that branch can be installed.
  virtual std::vector<Argv> before_driver(int branch, bool open_modules) const = 0;
  virtual Argv install(const std::vector<PackageVersion>& packages) const = 0;
  /// Returns the packages required to build a module for the running kernel.
  virtual std::vector<std::string> build_packages(const NodeFacts& facts) const = 0;
  /// Returns the distribution's package of libfabric.
  virtual std::string fabric_package() const = 0;
  /// Returns the distribution's packages of the libraries for RDMA adapters that it supports.
  virtual std::vector<std::string> verbs_packages() const = 0;
  /// Returns the commands that fetch `url` to `path` and check its hash.
  virtual std::vector<Argv> fetch(const PinnedArchive& archive, const std::string& path) const = 0;
};

/// Returns the node's package manager. Throws ErrorKind::usage if it has neither apt nor dnf.
std::unique_ptr<PackageManager> package_manager(const NodeFacts& facts);

}  // namespace fastgpu::envs
