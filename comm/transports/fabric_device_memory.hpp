// Memory of GPUs in messages over a fabric: read and written where it is, or passed through the
// host.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "comm/fabric/device_memory.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_memory.hpp"

namespace fastgpu::comm {

class FabricDeviceMemory {
 public:
  /// Borrows both.
  FabricDeviceMemory(fabric::FabricEndpoint& endpoint, RegisteredMemory& memory) noexcept
      : endpoint_(endpoint), memory_(memory) {}

  /// Finds out where memory is. The default asks CUDA's driver.
  using LocationOf = fabric::MemoryLocation (*)(const void* memory);
  void find_locations_by(LocationOf location_of) noexcept { location_of_ = location_of; }
  /// Memory of GPUs passes through the host from now on.
  void forbid() noexcept { is_allowed_ = false; }

  /// Registers memory for a message, until it is given back. Returns false for memory of the host,
  /// and for what must pass through it. Throws the failure to register it; it passes through the
  /// host from then on.
  bool take(std::span<std::byte> memory);
  void give_back(std::span<const std::byte> memory) noexcept { memory_.give_back(memory); }

  /// Returns sentences on the way of memory of GPUs, and its reason.
  std::string report() const { return report_of(choice()); }

 private:
  fabric::DeviceMemoryChoice choice() const;

  fabric::FabricEndpoint& endpoint_;
  RegisteredMemory& memory_;
  LocationOf location_of_ = fabric::location_of;
  bool is_allowed_ = true;
  std::string refusal_;  ///< Why memory could not be registered; empty: it could.
};

}  // namespace fastgpu::comm
