// Slurm that fastgpu sets up on the nodes of a cluster: the facts of the nodes, and the files that
// follow from them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::launcher {

/// The hardware of a node, as `slurmd -C` reports it.
struct SlurmHardware {
  int cpus = 1;
  int boards = 1;
  int sockets_per_board = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  int memory_mib = 1;
  friend bool operator==(const SlurmHardware&, const SlurmHardware&) = default;
};

struct SlurmNode {
  NodeName name{};
  std::string address{};  ///< The address for the other nodes.
  int slots = 1;
  // Facts of the node:
  std::string host{};  ///< The host name.
  int user_id = 0;     ///< The number of the user whose jobs run.
  std::string version{};
  SlurmHardware hardware{};
  std::vector<std::string> gpus{};  ///< "/dev/nvidia0"
};

/// Reads the facts that set_up_slurm.sh prints into `node`. Throws ErrorKind::remote, showing the
/// input, for anything else.
void read_slurm_facts(std::string_view text, SlurmNode& node);

/// Throws ErrorKind::conflict, naming the nodes, if Slurm cannot run on them together: other
/// releases of Slurm, other numbers of the user, an address or host name of two nodes, or IPv6.
void check_slurm_nodes(std::span<const SlurmNode> nodes);

/// Returns the name of a node in Slurm: one label.
std::string slurm_node_name(const NodeName& name);

/// Returns slurm.conf, gres.conf and cgroup.conf, each after a comment with its name. The first
/// node has the controller.
std::string slurm_files(std::span<const SlurmNode> nodes);

/// Returns the command that ends Slurm on a node and removes its files, to be run there.
std::string slurm_removal_command();

}  // namespace fastgpu::launcher
