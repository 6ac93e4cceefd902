#include "launcher/checks/shared_homes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "base/contains.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns true if the file system is that of a server, by which other machines reach it too.
bool is_on_server(const HomeDirectory& home) {
  constexpr std::array<std::string_view, 4> kServed = {"gpfs", "lustre", "beegfs", "ceph"};
  return home.source.find(':') != std::string::npos || home.source.starts_with("//") ||
         contains(kServed, home.type);
}

/// Returns a text that two nodes have in common only if they have one home directory; empty if that
/// is unknown. Numbers of inodes are those of the server, and numbers of devices those of a kernel.
std::string identity_of(const NodeHealth& state) {
  const HomeDirectory& home = state.home;
  if (home.inode.empty()) return {};
  if (is_on_server(home)) return home.source + " " + home.inode;
  if (state.boot_id.empty() || home.device.empty()) return {};
  return state.boot_id + " " + home.device + " " + home.inode;
}

}  // namespace

std::vector<Finding> shared_home_findings(std::span<const CheckedNode> nodes) {
  struct Home {
    std::string path;
    std::vector<std::string> nodes;
  };
  std::map<std::string, Home> homes;
  for (const CheckedNode& node : nodes) {
    if (!node.state.ok()) continue;
    const std::string identity = identity_of(node.state.value());
    if (identity.empty()) continue;
    Home& home = homes[identity];
    home.path = node.state.value().home.path;
    home.nodes.push_back(node.name.value);
  }
  std::vector<Finding> found;
  for (auto& [identity, home] : homes) {
    if (home.nodes.size() < 2) continue;
    found.push_back({.check = "home",
                     .severity = Severity::warning,
                     .nodes = std::move(home.nodes),
                     .found = "they share the home directory " + home.path,
                     .why = "mpirun's jobs on more than one of them are refused, because each node "
                            "keeps the files of jobs in its home directory",
                     .remedy = "log in as a user with a home directory on each node, or run jobs "
                               "by --engine slurm"});
  }
  return found;
}

}  // namespace fastgpu::launcher
