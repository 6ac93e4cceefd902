// The GPU of a rank, which is known before the rank uses it: its device of a fabric is chosen by
// it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/rdma_devices.hpp"

namespace fastgpu::comm::fabric {

/// The variables by which programs choose the GPU of a rank.
struct GpuVariables {
  std::optional<int> local_rank{};       ///< The number of the rank on its machine.
  std::optional<std::string> visible{};  ///< CUDA_VISIBLE_DEVICES; absent: all GPUs are visible.
};

/// A GPU of NVIDIA, as the kernel shows it.
struct PciGpu {
  std::string address{};  ///< "0000:3b:00.0".
  std::string place{};    ///< As pci_place() returns it.
  std::optional<int> numa_node{};
};

/// Returns the GPUs of NVIDIA on this machine by address, which is their order with
/// CUDA_DEVICE_ORDER=PCI_BUS_ID, and that of CUDA if they are alike. Reads below `root`.
std::vector<PciGpu> gpus_of_machine(const std::filesystem::path& root = "/");

/// Returns the address of the GPU that this thread has made current in CUDA. Empty without one, and
/// if the process does not use CUDA yet.
std::string current_gpu();

/// Returns the index of the GPU that a rank uses by convention, of `count`: the visible one with
/// its number on the machine, in turn if there are fewer. Absent if the variables do not say which.
std::optional<std::size_t> usual_gpu(std::size_t count, const GpuVariables& variables);

/// Returns what a rank's device should be near to: the GPU at the address `current`, or if that is
/// empty the usual one; without a GPU the processors that the rank may use. Reads below `root`.
RdmaNeighbour neighbour_of(const GpuVariables& variables, const std::string& current,
                           const std::filesystem::path& root = "/");

}  // namespace fastgpu::comm::fabric
