// What ECS's machines stand close together in: high-performance clusters those with RoCE,
// deployment sets others. Both take no tags: our marks are in their description. Pure.
#pragma once

#include <string>
#include <string_view>

#include "provision/cloud/model.hpp"

namespace fastgpu::provision::alibaba {

/// Whether machines of that type are to be had in such a cluster alone.
bool needs_hpc_cluster(std::string_view type);

/// Whether `families`, as ECS lists them, names that of a type: "ecs.ebmgn7ex" of
/// "ecs.ebmgn7ex.32xlarge".
bool names_family_of(std::string_view families, std::string_view type);

/// "fastgpu-cluster=1a2b3c4d fastgpu-name=demo fastgpu-owner=5e6f7081"
std::string description_of(const cloud::Marks& marks);

/// Empty ones for a description that is not ours.
cloud::Marks marks_in_description(std::string_view description);

}  // namespace fastgpu::provision::alibaba
