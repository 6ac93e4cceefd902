// The facts about a node that the launcher needs to plan a job there.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/rdma_devices.hpp"

namespace fastgpu::agent {

/// An Ascend processor.
struct NpuDevice {
  int device = 0;
  std::string address{};  ///< The address of its own network port; empty if it is unknown.
  friend bool operator==(const NpuDevice&, const NpuDevice&) = default;
};

/// The time for `mpirun --version` to answer.
inline constexpr std::chrono::seconds kMpirunAnswer{30};

struct JobNodeFacts {
  std::string host{};             ///< The node's own host name.
  std::string home{};             ///< Our home directory on the node.
  bool root = false;              ///< True if we are root on the node.
  int cores = 1;                  ///< The number of cores that we may use.
  std::string boot_id{};          ///< Equal on nodes that share one kernel, and thus its cores.
  std::string mpirun{};           ///< An absolute path; empty if mpirun is missing.
  std::string mpirun_version{};   ///< The first line of `mpirun --version`.
  bool is_mpirun_silent = false;  ///< `mpirun --version` has not ended within kMpirunAnswer.
  bool has_daemon = true;         ///< The daemon that mpirun starts on other nodes is beside it.
  /// The settings of the parameter files of Open MPI, as "NAME=VALUE".
  std::vector<std::string> mpi_parameters{};
  bool has_torchrun = true;  ///< torchrun is in the job's environment, or in PATH.
  /// Why the interpreter that the user names cannot run torchrun: "has no PyTorch". Without such an
  /// interpreter: why the torchrun in PATH cannot start, beginning with its path. Empty if it can.
  std::string torchrun_obstacle{};
  /// The addresses of the interfaces that are up, except loopback: "10.0.0.7/24".
  std::vector<std::string> addresses{};
  /// The MTUs of these interfaces, in the same order; 0 if one is unknown.
  std::vector<int> mtus{};
  /// The node's address at which our connection arrived; empty if it is unknown.
  std::string ssh_address{};
  std::string ssh_version{};    ///< The first line of `ssh -V`; empty if it is missing.
  std::string rdma_device{};    ///< The first RDMA device, "mlx5_0"; empty without one.
  std::string rdma_obstacle{};  ///< What prevents its use, and the remedy; empty if unknown.
  std::vector<NpuDevice> npus{};
  /// The ports of all RDMA devices, with their addresses. Their place on the PCI bus is left out.
  std::vector<RdmaPort> rdma_ports{};
};

std::string to_text(const JobNodeFacts& facts);
JobNodeFacts parse_node_facts(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
