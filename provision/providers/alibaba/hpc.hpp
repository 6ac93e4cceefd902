// The groups in which ECS's machines are close together: high-performance clusters for those with
// RoCE, deployment sets for others. Both take no tags: our marks are in their description. Pure.
#pragma once

#include <string>
#include <string_view>

#include "provision/cloud/model.hpp"

namespace fastgpu::provision::alibaba {

/// Returns true if machines of that type are available only in such a cluster.
bool needs_hpc_cluster(std::string_view type);

/// Returns true if `families`, a text from ECS, contains the family of `type`, such as
/// "ecs.ebmgn7ex" for "ecs.ebmgn7ex.32xlarge".
bool names_family_of(std::string_view families, std::string_view type);

/// Returns "fastgpu-cluster=1a2b3c4d fastgpu-name=demo fastgpu-owner=5e6f7081".
std::string description_of(const cloud::OwnerTags& marks);

/// Returns the marks; empty ones for a description that is not ours.
cloud::OwnerTags marks_in_description(std::string_view description);

}  // namespace fastgpu::provision::alibaba
