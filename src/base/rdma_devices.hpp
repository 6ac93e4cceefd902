// The RDMA devices of this machine, as its kernel shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu {

/// An address of a port, which the port's network knows it by.
struct RdmaGid {
  int index = 0;             ///< Its place in the port's table.
  std::string gid{};         ///< "fe80:0000:0000:0000:5054:00ff:fe77:0001".
  std::string type{};        ///< "IB/RoCE v1", "RoCE v2"; empty if the kernel names none.
  std::string interface {};  ///< The network interface that it belongs to; empty without one.

  friend bool operator==(const RdmaGid&, const RdmaGid&) = default;
};

struct RdmaPort {
  std::string device{};  ///< "mlx5_0".
  std::string number{};  ///< "1".
  std::string state{};   ///< "ACTIVE", "DOWN" and so on.
  bool has_address = false;
  std::optional<int> numa_node{};  ///< The node of memory and processors beside the device.
  /// The kernel's driver: "mlx5_core", "efa", "erdma", "rdma_rxe", "siw"; empty if it is unknown.
  std::string driver{};
  std::string link_layer{};     ///< "InfiniBand", "Ethernet"; as the kernel has it.
  std::int64_t mbit = 0;        ///< The rate in Mbit a second; 0 if it is unknown.
  std::string interface {};     ///< The network interface of the port: "eth0"; may be empty.
  std::vector<RdmaGid> gids{};  ///< Empty until gids_of() has read them.
  /// The place of the device on the PCI bus, as pci_place() returns it; empty for another device.
  std::string pci_place{};

  friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

/// The most addresses of a port that gids_of() returns.
constexpr std::size_t kMaxGids = 16;

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

/// Returns the addresses of a port that are set, by index, below `root`: the first kMaxGids.
std::vector<RdmaGid> gids_of(const RdmaPort& port, const std::filesystem::path& root = "/");

/// Returns "mlx5" for the driver mlx5_core, and otherwise the name itself: "efa", "hns".
std::string plain_driver_name(std::string_view driver);

/// Returns the node of all processors that this process may use; absent if they are of several.
std::optional<int> own_numa_node(const std::filesystem::path& root = "/");

/// The place that a device should be near to.
struct RdmaNeighbour {
  std::optional<int> numa_node{};  ///< Absent: unknown, or of several nodes.
  std::string pci_place{};         ///< The place of a GPU, as pci_place() returns it; may be empty.
};

/// Returns the active device that has the most bridges in common with the neighbour's place; among
/// equals one of its node of memory, and among these the one whose turn it is. Empty where there is
/// no choice.
std::string nearest_device(const RdmaDevices& devices, const RdmaNeighbour& neighbour, int turn);

/// Returns what prevents the use of these devices, of which there is at least one, and the remedy.
/// Empty if the kernel shows no obstacle.
std::string obstacle_of(const RdmaDevices& devices);

/// Returns "a process may lock 64 kB of memory here: raise the limit ...".
std::string remedy_for_lockable(Bytes lockable);

}  // namespace fastgpu
