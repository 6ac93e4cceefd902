// The memory of GPUs on its way through a fabric: directly, or by way of the host's pinned memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/fabric/plugin.hpp"

namespace fastgpu::comm::fabric {

/// The way of messages from and to a GPU's memory.
enum class DeviceMemoryWay : std::uint8_t {
  direct,  ///< The network reads and writes the GPU's memory (FI_HMEM, GPUDirect RDMA).
  by_host  ///< The bytes are copied to pinned memory of the host, and from there.
};

/// Returns "direct", or "by the host".
std::string_view name_of(DeviceMemoryWay way) noexcept;

/// The facts that decide between the ways.
struct DeviceMemoryFacts {
  bool is_allowed = true;     ///< FASTGPU_COMM_GPUDIRECT is not `off`.
  bool does_take_it = false;  ///< The provider on the device, and the build of it, have FI_HMEM.
  std::string network{};      ///< "verbs;ofi_rxm on mlx5_0".
  std::string refusal{};      ///< The error of a registration of a GPU's memory; empty: none.
};

struct DeviceMemoryChoice {
  DeviceMemoryWay way = DeviceMemoryWay::by_host;
  std::string why{};  ///< The reason, within a sentence.
};

DeviceMemoryChoice choose_device_memory_way(const DeviceMemoryFacts& facts);

/// Returns a sentence on the choice, for the user.
std::string report_of(const DeviceMemoryChoice& choice);

/// The type of memory, as CUDA's driver has it: CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
/// CU_POINTER_ATTRIBUTE_IS_MANAGED and CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL of an address.
struct CudaPointerFacts {
  bool is_known = false;  ///< The driver is loaded, and knows the address.
  unsigned type = 0;
  bool is_managed = false;
  int device = 0;
};

/// Returns where memory is. That which moves between a GPU and the host counts as the host's.
MemoryLocation location_by(const CudaPointerFacts& facts) noexcept;

/// Returns where the memory at an address is. A process that does not use CUDA has none of a GPU.
MemoryLocation location_of(const void* memory);

}  // namespace fastgpu::comm::fabric
