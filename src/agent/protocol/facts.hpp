// What the launcher must know of a node before it can write a job for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

struct NodeFacts {
  std::string host;            ///< Its own name for itself.
  std::string home;            ///< Our home directory there.
  bool root = false;           ///< We are root there.
  int cores = 1;               ///< That we may run on.
  std::string boot_id;         ///< The same for nodes that share one kernel, and so its cores.
  std::string mpirun;          ///< Absolute path; empty where there is none.
  std::string mpirun_version;  ///< The first line of `mpirun --version`.
  /// The addresses of its interfaces that are up, loopback left out, as "10.0.0.7/24".
  std::vector<std::string> addresses{};
  std::string ssh_address{};  ///< Its own address at which we have come in; empty: unknown.
};

std::string to_text(const NodeFacts& facts);
NodeFacts parse_node_facts(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
