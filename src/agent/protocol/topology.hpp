// The processors and devices of a node, and lists of CPUs as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// A hardware thread that jobs may use.
struct Cpu {
  int number = 0;  ///< The kernel's number.
  int core = 0;    ///< Equal for the threads of one core; unique on the node.
  int socket = 0;  ///< The physical package.
  int numa = 0;    ///< The NUMA node.

  friend bool operator==(const Cpu&, const Cpu&) = default;
};

/// A GPU or a network adapter.
struct NearDevice {
  std::string name;  ///< "0000:3b:00.0", "mlx5_0", "eth0"
  int numa = -1;     ///< The NUMA node that it is connected to; -1 if it is unknown.

  friend bool operator==(const NearDevice&, const NearDevice&) = default;
};

/// The NVLinks between two GPUs, directly or by a switch.
struct GpuLink {
  int first = 0;   ///< The index of a GPU.
  int second = 0;  ///< The index of a later one.
  int count = 0;   ///< The number of links, at least 1.

  friend bool operator==(const GpuLink&, const GpuLink&) = default;
};

/// No GPU has more NVLinks.
inline constexpr int kMostGpuLinks = 64;

struct MachineTopology {
  std::string boot_id;           ///< Equal on nodes that share one kernel, and thus its CPUs.
  std::vector<Cpu> cpus;         ///< Sorted by number.
  std::vector<NearDevice> gpus;  ///< In the order of CUDA_DEVICE_ORDER=PCI_BUS_ID.
  std::vector<NearDevice> adapters;
  std::vector<GpuLink> gpu_links{};  ///< Each linked pair of GPUs once, in their order.
  bool is_gpu_tool_silent = false;   ///< nvidia-smi does not answer: the links are unknown.
};

std::string to_text(const MachineTopology& topology);
MachineTopology parse_topology(std::string_view text);  ///< Throws remote.

/// Returns "0-3,8" for sorted numbers; "" for none.
std::string cpu_list(const std::vector<int>& cpus);
/// Parses such a list. Throws remote.
std::vector<int> parse_cpu_list(std::string_view text);

}  // namespace fastgpu::agent
