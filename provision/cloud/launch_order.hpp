// The content of a launch, from the record of a cluster and the requests for its nodes. Pure.
#pragma once

#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Returns the launch of one batch of nodes at the cluster's place, with what a machine does at its
/// first boot. The same batch of a cluster that is being created always gives the same launch, so
/// that a cloud knows its token again.
Launch launch_of(const state::Cluster& cluster, const std::string& owner,
                 std::span<const NodeRequest> batch, const Limits& limits);

}  // namespace fastgpu::provision::cloud
