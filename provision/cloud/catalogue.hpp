// GPU machines that clouds are known to have. Data: what an API answers overrules it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/model.hpp"

namespace fastgpu::provision::cloud {

/// When the rows were last compared with the vendors' own lists.
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
};

std::span<const CatalogueRow> catalogue();

/// The types of one cloud that suit, as far as the rows tell. A wish for a type that no row has
/// gives that type with nothing known of it.
std::vector<InstanceType> known_types(std::string_view cloud, const Wish& wish);

/// The names of the types of `clouds` that have RDMA: those with the GPUs of the wish, or all of
/// them where none has.
std::vector<std::string> types_with_rdma(std::span<const std::string_view> clouds,
                                         const Wish& wish);

/// Fills in what an API did not tell of a type and a row does.
void complete(InstanceType& type, std::string_view cloud);

/// "A100" of "NVIDIA A100", "NVIDIA Tesla A100-80G" and "A100-SXM4-80GB"; "RTX PRO 6000" as it is.
std::string plain_gpu_name(std::string_view text);

/// Whether two names are of one GPU, whatever their case, maker and form.
bool same_gpu(std::string_view a, std::string_view b);

/// Whether a type suits: its GPU by name whatever the case, its numbers at least as wished.
bool suits(const InstanceType& type, const Wish& wish);

/// The regions of a cloud that are asked where the user names none.
std::span<const std::string_view> usual_regions(std::string_view cloud);

/// "A100", "A100:8", "A100-80GB:8" into a wish. Throws ErrorKind::usage.
void parse_gpus(std::string_view text, Wish& wish);

}  // namespace fastgpu::provision::cloud
