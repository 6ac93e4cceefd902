// Nodes of which an image is being made, or was until the command died. Their keys are only in
// their memory, so that they are lost if the machine stops.
#pragma once

#include <span>
#include <string_view>

#include "state/store.hpp"

namespace fastgpu::provision {

/// Throws conflict, with the command that puts the node back, if an image of one of `nodes` is not
/// complete. `doing` names the change: "stopping".
void check_not_baking(const state::Store& store, const state::Cluster& cluster,
                      std::span<const state::Node> nodes, std::string_view doing);

}  // namespace fastgpu::provision
