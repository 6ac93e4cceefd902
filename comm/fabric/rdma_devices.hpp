// The RDMA devices of this machine, as its kernel shows them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fastgpu::comm::fabric {

struct RdmaPort {
  std::string device{};  ///< "mlx5_0".
  std::string number{};  ///< "1".
  std::string state{};   ///< "ACTIVE", "DOWN" and so on.
  bool has_address = false;
};

struct RdmaDevices {
  std::vector<RdmaPort> ports{};      ///< In the order of their names.
  std::vector<std::string> closed{};  ///< Device files that this process may not open.
  bool has_files = false;             ///< Whether there are device files at all.
};

/// Looks into /sys/class/infiniband and /dev/infiniband below `root`. Opens no device.
RdmaDevices rdma_devices(const std::filesystem::path& root = "/");

/// Returns why these devices, of which there is at least one, cannot be used though libfabric is
/// there, and what to do.
std::string obstacle_of(const RdmaDevices& devices);

}  // namespace fastgpu::comm::fabric
