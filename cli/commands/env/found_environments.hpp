// The environments on the nodes of one cluster, as the nodes report them.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "envs/environments/node_status.hpp"

namespace fastgpu::cli {

/// An environment under one prefix. The same name under another prefix is another environment.
struct FoundEnvironment {
  std::vector<std::string> nodes;  ///< The nodes on which it is complete and current.
  std::set<std::string> builds;    ///< The versions, each with the checksum of its manifest.
  std::string version;
  std::size_t active_on = 0;  ///< The number of nodes on which logins activate it.
};

class FoundEnvironments {
 public:
  using Key = std::pair<std::string, std::string>;  ///< A name and a prefix.

  /// Adds the report of one node about one prefix. Ignores a repeated report: the default prefix
  /// may be on record by its path, too.
  void add(const NodeName& node, const agent::EnvironmentStatus& status);
  /// Returns the number of nodes that have reported about a prefix.
  std::size_t reports_of(const std::string& prefix) const;
  const std::map<Key, FoundEnvironment>& all() const noexcept { return found_; }

 private:
  std::map<Key, FoundEnvironment> found_;
  std::map<std::string, std::set<std::string>> reported_;  // The nodes by the prefix.
};

/// Returns "complete", "partial" or "differs", for a cluster with that number of nodes.
std::string state_of(const FoundEnvironment& found, std::size_t nodes);

}  // namespace fastgpu::cli
