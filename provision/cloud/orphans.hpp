// What no book knows of, and somebody may still pay for.
#pragma once

#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Of an owner in all regions of a cloud: machines and network parts of clusters that are not
/// `known`, and images that were never finished. What a cluster has whose machines somebody else
/// has taken over, if only in part, is theirs, whatever mark it carries. Regions that refuse are
/// told.
Orphans find_orphans(Cloud& cloud, const std::string& owner,
                     std::span<const state::ClusterId> known, const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
