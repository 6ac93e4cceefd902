#include "comm/fabric/rank_gpu.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/ascii.hpp"
#include "base/files.hpp"
#include "base/numbers.hpp"
#include "base/pci_place.hpp"
#include "base/split.hpp"

namespace fastgpu::comm::fabric {
namespace {

namespace fs = std::filesystem;

/// The most devices of a machine that are looked at.
constexpr std::size_t kMaxPciDevices = 4'096;

bool is_gpu_of_nvidia(const fs::path& device) {
  const std::string kind = first_line_of(device / "class");
  return first_line_of(device / "vendor") == "0x10de" &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

/// A function of CUDA's driver; a status of 0 is success.
using CurrentDevice = int (*)(int* device);
using DeviceAddress = int (*)(char* address, int size, int device);

/// Returns a function of a library; null if it lacks it.
template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

/// Returns the indexes in a list such as "2,3"; empty for one with names of GPUs, and as CUDA does
/// it, without those behind the first that is no GPU of the machine.
std::vector<std::size_t> visible_indexes(std::string_view list, std::size_t count) {
  std::vector<std::size_t> indexes;
  for (const std::string_view word : split(list, ',')) {
    const auto index = to_number<std::size_t>(trimmed(word));
    if (!index || *index >= count) break;
    indexes.push_back(*index);
  }
  return indexes;
}

}  // namespace

std::vector<PciGpu> gpus_of_machine(const fs::path& root) {
  std::vector<PciGpu> gpus;
  std::error_code error;
  std::size_t seen = 0;
  for (auto entry = fs::directory_iterator(root / "sys/bus/pci/devices", error);
       !error && entry != fs::directory_iterator() && seen < kMaxPciDevices;
       entry.increment(error), ++seen) {
    const fs::path device = entry->path();
    if (!is_gpu_of_nvidia(device)) continue;
    const auto node = to_number<int>(first_line_of(device / "numa_node"));
    gpus.push_back({.address = device.filename().string(),
                    .place = pci_place(device),
                    .numa_node = node.value_or(-1) >= 0 ? node : std::nullopt});
  }
  std::ranges::sort(gpus, {}, &PciGpu::address);
  return gpus;
}

std::string current_gpu() {
  const auto close = [](void* library) { ::dlclose(library); };
  // A process that does not use CUDA is not made to load it.
  const std::unique_ptr<void, decltype(close)> driver(
      ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), close);
  if (!driver) return {};
  const auto current = function_of<CurrentDevice>(driver.get(), "cuCtxGetDevice");
  const auto address_of = function_of<DeviceAddress>(driver.get(), "cuDeviceGetPCIBusId");
  int device = -1;
  std::array<char, 32> address{};
  const bool is_known = current != nullptr && address_of != nullptr && current(&device) == 0 &&
                        address_of(address.data(), address.size() - 1, device) == 0;
  return is_known ? ascii_lower(address.data()) : std::string();
}

std::optional<std::size_t> usual_gpu(std::size_t count, const GpuVariables& variables) {
  std::vector<std::size_t> visible;
  if (variables.visible)
    visible = visible_indexes(*variables.visible, count);
  else
    for (std::size_t index = 0; index < count; ++index)
      visible.push_back(index);
  if (visible.size() == 1) return visible.front();
  if (visible.empty() || variables.local_rank.value_or(-1) < 0) return std::nullopt;
  return visible[static_cast<std::size_t>(*variables.local_rank) % visible.size()];
}

RdmaNeighbour neighbour_of(const GpuVariables& variables, const std::string& current,
                           const fs::path& root) {
  const std::vector<PciGpu> gpus = gpus_of_machine(root);
  RdmaNeighbour near{.numa_node = own_numa_node(root)};
  auto gpu = std::ranges::find(gpus, current, &PciGpu::address);
  if (const auto usual = usual_gpu(gpus.size(), variables); current.empty() && usual)
    gpu = gpus.begin() + static_cast<std::ptrdiff_t>(*usual);
  if (gpu == gpus.end()) return near;
  near.pci_place = gpu->place;
  if (gpu->numa_node) near.numa_node = gpu->numa_node;
  return near;
}

}  // namespace fastgpu::comm::fabric
