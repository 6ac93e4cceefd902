// Tries whether the hosts of a static cluster answer: fastgpu does not start them, and only a login
// shows whether they run.
#pragma once

#include <span>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Logs in to all of `nodes` once. Throws the failures as one error that names the nodes. Does
/// nothing for nodes of other providers, which report their state.
void require_static_hosts_answer(Services& services, const state::Cluster& cluster,
                                 std::span<const state::Node> nodes);

}  // namespace fastgpu::cli
