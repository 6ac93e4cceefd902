// Open MPI's mpirun, versions 4.1 and 5: arguments and environment. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::launcher {

enum class OpenMpi : std::uint8_t { v4 = 4, v5 = 5 };

/// Parses the first line of `mpirun --version`. Throws ErrorKind::remote for another MPI and for
/// versions before 4.
OpenMpi parse_open_mpi(const std::string& version_line);

struct MpirunPlan {
  std::string job_id;
  std::string mpirun;  ///< Absolute; the same on every node.
  OpenMpi version = OpenMpi::v4;
  std::string hostfile;  ///< Absolute, on the first node.
  /// The command that starts daemons in place of ssh, with ssh's arguments. Its first word is a
  /// program that every node has in its PATH: mpirun passes the command on to its daemons, and each
  /// of them ends without a word if its own node lacks the program.
  std::vector<std::string> remote_shell{"ssh"};
  /// On the first node, relative to the home directory; empty if no other node takes part.
  std::string ssh_config;
  int ranks = 1;
  int nodes = 1;
  std::optional<std::string> network{};  ///< "10.0.0.0/24": the interface of all MPI traffic.
  bool root = false;                     ///< mpirun runs as root.
  bool crowded = false;                  ///< A node has more ranks than cores.
  bool same_host_names = false;          ///< Two nodes have the same host name.
  /// The settings ("NAME=VALUE") of the first node's parameter files, if such files choose networks
  /// on any node: they are then read from here alone. Absent otherwise.
  std::optional<std::vector<std::string>> file_parameters{};
  std::vector<std::string> forward{};  ///< Names of variables that mpirun passes to ranks.
  std::vector<std::string> program;    ///< The command of every rank.
};

/// Returns true for a setting ("NAME=VALUE") of a parameter file that leaves networks out. Open MPI
/// does not start if another setting names those to use.
bool leaves_networks_out(std::string_view setting);

std::vector<std::string> mpirun_argv(const MpirunPlan& plan);

}  // namespace fastgpu::launcher
