// Reads how the GPUs of this node are linked with each other, from nvidia-smi.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "agent/protocol/topology.hpp"

namespace fastgpu::agent {

/// Returns the NVLinks in the matrix that `nvidia-smi topo -m` prints, by nvidia-smi's own numbers
/// of the GPUs. Cells other than "NV" with a number mean that a pair is not linked.
std::vector<GpuLink> links_of_matrix(std::string_view matrix);

/// Returns these links by the indexes of `gpus`. `addresses` has nvidia-smi's PCI addresses of its
/// GPUs, "00000000:3B:00.0", a line each. Returns no links if these are not the same GPUs.
std::vector<GpuLink> links_by_address(std::span<const GpuLink> links, std::string_view addresses,
                                      std::span<const NearDevice> gpus);

/// Asks nvidia-smi for the links between these GPUs, for some seconds at most. Returns no links
/// where it is missing or fails. Throws timeout if it does not answer.
std::vector<GpuLink> read_gpu_links(std::span<const NearDevice> gpus);

}  // namespace fastgpu::agent
