// What a step of a plan runs to install packages: the commands of apt and of dnf.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "envs/drivers/plan.hpp"

namespace fastgpu::envs {

/// A file that a step puts on the node.
struct NodeFile {
  std::string path;
  std::string content;
};

/// Writes it where nobody sees half of it; mode 0644.
Argv write_file(const NodeFile& file);

/// The node has the file as it should be.
bool has_file(const NodeFacts& facts, const NodeFile& file);

struct PackageVersion {
  std::string name;
  std::string version{};  ///< Complete; empty: whichever the repository has.
};

class PackageManager {
 public:
  virtual ~PackageManager() = default;

  /// After an installation that was cut off.
  virtual std::vector<Argv> repair() const = 0;
  /// What keeps the system from installing by itself meanwhile. The last one is written once the
  /// others are in force, so that all of them say that they are.
  virtual std::vector<NodeFile> hold_files() const = 0;
  /// Puts the others in force, or what has become of them once they are gone; none where being
  /// there is enough.
  virtual std::vector<Argv> reload_hold() const = 0;
  /// The vendor's repository at `url`, signed by `key`.
  virtual std::vector<NodeFile> repository_files(const std::string& url,
                                                 const PinnedKey& key) const = 0;
  virtual const PinnedKey& key(const Recipe& recipe) const = 0;
  /// Reads the vendor's repository again, or the distribution's.
  virtual Argv read_vendor_index() const = 0;
  virtual Argv read_distribution_index() const = 0;
  /// What keeps the driver's packages at that version; none where exact versions are enough.
  virtual std::vector<NodeFile> pin_files(const std::string& version) const = 0;
  /// What comes before the driver's packages of that branch can be installed.
  virtual std::vector<Argv> before_driver(int branch, bool open_modules) const = 0;
  virtual Argv install(const std::vector<PackageVersion>& packages) const = 0;
  /// What it takes to build a module for the running kernel.
  virtual std::vector<std::string> build_packages(const NodeFacts& facts) const = 0;
  /// Fetches `url` to `path` and checks its hash.
  virtual std::vector<Argv> fetch(const PinnedArchive& archive, const std::string& path) const = 0;
};

/// Of the node. Throws ErrorKind::usage where it has neither apt nor dnf.
std::unique_ptr<PackageManager> package_manager(const NodeFacts& facts);

}  // namespace fastgpu::envs
