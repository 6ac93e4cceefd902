// Objects that are not on record, but may still cost money.
#pragma once

#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Finds objects of an owner in all regions of a cloud: machines and network parts of clusters that
/// are not `known`, and unfinished images. If another owner has taken over any machine of a
/// cluster, all parts of the cluster belong to that owner, whatever their marks are. Regions that
/// refuse are reported.
Orphans find_orphans(Cloud& cloud, const std::string& owner,
                     std::span<const state::ClusterId> known, const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
