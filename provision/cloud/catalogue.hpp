// GPU machines that clouds are known to have. The answers of an API take precedence over these
// data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/model.hpp"

namespace fastgpu::provision::cloud {

/// The month of the last comparison with the vendors' own lists.
constexpr std::string_view kCatalogueDate = "2026-08";

struct CatalogueRow {
  std::string_view cloud;
  std::string_view type;
  std::string_view gpu;
  int gpus;
  int gpu_memory_gib;
  int cores;
  double memory_gib;
  double network_gbit;
  int rdma_interfaces;
  double rdma_gbit = 0;  ///< The rate of these together; 0 for AWS, where it is the network's.
};

std::span<const CatalogueRow> catalogue();

/// Returns the types of one cloud that suit the request, according to the rows. For a requested
/// type that is not in the rows, returns a type that has only its name.
std::vector<InstanceType> known_types(std::string_view cloud, const MachineRequest& request);

/// Returns the names of the types of `clouds` that have RDMA: those with the requested GPUs, or all
/// of them if no such type has those GPUs.
std::vector<std::string> types_with_rdma(std::span<const std::string_view> clouds,
                                         const MachineRequest& request);

/// Returns the kind of the RDMA interfaces that a type of that cloud has: "EFA", "eRDMA", "RoCE".
/// Empty for a type without one.
std::string_view rdma_fabric(std::string_view cloud, const InstanceType& type);

/// Fills in the facts about a type that the API's answer lacks and a row has.
void complete(InstanceType& type, std::string_view cloud);

/// Returns the name without maker, form and memory: "A100" for "NVIDIA A100", "NVIDIA Tesla
/// A100-80G" and "A100-SXM4-80GB". "RTX PRO 6000" stays the same.
std::string plain_gpu_name(std::string_view text);

/// Returns true if two names mean the same GPU, whatever their case, maker and form.
bool same_gpu(std::string_view a, std::string_view b);

/// Returns true if a type suits the request: its GPU has that name in any case, and its numbers are
/// at least the requested ones.
bool suits(const InstanceType& type, const MachineRequest& request);

/// Returns the regions of a cloud that are searched if the user names no region.
std::span<const std::string_view> usual_regions(std::string_view cloud);

/// Parses "A100", "A100:8" or "A100-80GB:8" into a request. Throws ErrorKind::usage.
void parse_gpus(std::string_view text, MachineRequest& request);

}  // namespace fastgpu::provision::cloud
