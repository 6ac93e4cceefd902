// The nodes of a cluster that can be reached now.
#pragma once

#include <vector>

#include "cli/workflows/services.hpp"
#include "ssh/host.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns the hosts of those of `nodes` that run and whose first contact is over.
std::vector<ssh::Host> reachable_hosts(Services& services, const state::Cluster& cluster,
                                       const std::vector<state::Node>& nodes);

}  // namespace fastgpu::cli
