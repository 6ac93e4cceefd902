// The RDMA devices of this machine, as its kernel shows them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace fastgpu {

struct RdmaPort {
  std::string device{};  ///< "mlx5_0".
  std::string number{};  ///< "1".
  std::string state{};   ///< "ACTIVE", "DOWN" and so on.
  bool has_address = false;
  std::optional<int> numa_node{};  ///< The node of memory and processors beside the device.
};

struct RdmaDevices {
  std::vector<RdmaPort> ports{};      ///< In the order of their names.
  std::vector<std::string> closed{};  ///< Device files that this process may not open.
  bool has_files = false;             ///< Whether there are device files at all.
  /// The memory that this process may lock; absent: as much as it wants.
  std::optional<Bytes> lockable{};
};

/// Reads /sys/class/infiniband, /dev/infiniband, and the limits of this process in /proc/self,
/// below `root`. Opens no device.
RdmaDevices rdma_devices(const std::filesystem::path& root = "/");

/// Returns the node of all processors that this process may use; absent if they are of several.
std::optional<int> own_numa_node(const std::filesystem::path& root = "/");

/// Returns the active device beside `numa_node`; any active device if no device is there, or the
/// node is unknown. Among equals `turn` decides. Empty where there is no choice.
std::string nearest_device(const RdmaDevices& devices, std::optional<int> numa_node, int turn);

/// Returns what prevents the use of these devices, of which there is at least one, and the remedy.
/// Empty if the kernel shows no obstacle.
std::string obstacle_of(const RdmaDevices& devices);

/// Returns "a process may lock 64 kB of memory here: raise the limit ...".
std::string remedy_for_lockable(Bytes lockable);

}  // namespace fastgpu
