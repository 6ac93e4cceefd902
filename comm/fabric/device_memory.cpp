#include "comm/fabric/device_memory.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <memory>

namespace fastgpu::comm::fabric {
namespace {

// Values of CUDA's driver, which do not change: its headers are not needed.
constexpr int kAttributeType = 2;     // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kAttributeManaged = 8;  // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr int kAttributeDevice = 9;   // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr unsigned kTypeDevice = 2;   // CU_MEMORYTYPE_DEVICE

/// A function of CUDA's driver; a status of 0 is success.
using PointerAttribute = int (*)(void* value, int attribute, std::uint64_t address);

CudaPointerFacts facts_of(const void* memory) {
  const auto close = [](void* library) { ::dlclose(library); };
  // A process that does not use CUDA is not made to load it.
  const std::unique_ptr<void, decltype(close)> driver(
      ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), close);
  if (!driver) return {};
  const auto attribute_of =
      reinterpret_cast<PointerAttribute>(::dlsym(driver.get(), "cuPointerGetAttribute"));
  if (attribute_of == nullptr) return {};
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
  CudaPointerFacts facts;
  unsigned managed = 0;
  facts.is_known = attribute_of(&facts.type, kAttributeType, address) == 0 &&
                   attribute_of(&managed, kAttributeManaged, address) == 0 &&
                   attribute_of(&facts.device, kAttributeDevice, address) == 0;
  facts.is_managed = managed != 0;
  return facts;
}

}  // namespace

std::string_view name_of(DeviceMemoryWay way) noexcept {
  switch (way) {
    case DeviceMemoryWay::direct:
      return "direct";
    case DeviceMemoryWay::by_host:
      return "by the host";
  }
  return "by the host";
}

DeviceMemoryChoice choose_device_memory_way(const DeviceMemoryFacts& facts) {
  if (!facts.is_allowed) return {.why = "FASTGPU_COMM_GPUDIRECT is 'off'"};
  if (!facts.does_take_it)
    return {.why = facts.network + " takes no memory of GPUs: its libfabric lacks FI_HMEM for it"};
  if (!facts.refusal.empty()) return {.why = facts.network + " has refused it: " + facts.refusal};
  return {.way = DeviceMemoryWay::direct, .why = facts.network + " takes memory of GPUs"};
}

std::string report_of(const DeviceMemoryChoice& choice) {
  return choice.way == DeviceMemoryWay::direct
             ? "messages between hosts go directly from and to the memory of GPUs: " + choice.why
             : "messages between hosts pass through pinned memory of the host: " + choice.why;
}

MemoryLocation location_by(const CudaPointerFacts& facts) noexcept {
  if (!facts.is_known || facts.is_managed || facts.type != kTypeDevice) return {};
  return {.kind = MemoryKind::cuda, .device = facts.device};
}

MemoryLocation location_of(const void* memory) {
  return location_by(facts_of(memory));
}

}  // namespace fastgpu::comm::fabric
