#include "comm/transports/fabric_device_memory.hpp"

#include "base/error.hpp"

namespace fastgpu::comm {

fabric::DeviceMemoryChoice FabricDeviceMemory::choice() const {
  const fabric::Traits& traits = endpoint_.traits();
  return fabric::choose_device_memory_way({.is_allowed = is_allowed_,
                                           .does_take_it = traits.takes_device_memory,
                                           .network = traits.provider + " on " + traits.device,
                                           .refusal = refusal_});
}

bool FabricDeviceMemory::take(std::span<std::byte> memory) {
  if (choice().way != fabric::DeviceMemoryWay::direct) return false;
  const fabric::MemoryLocation location = location_of_(memory.data());
  if (location.kind == fabric::MemoryKind::host) return false;
  if (memory_.lend_again(memory)) return true;
  try {
    memory_.lend(endpoint_.register_memory(memory, location));
  } catch (const Error& e) {
    refusal_ = e.what();
    throw;
  }
  return true;
}

}  // namespace fastgpu::comm
