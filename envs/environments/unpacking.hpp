// The first node gets a build out of an archive; the others get it from there.
#pragma once

#include "envs/environments/participants.hpp"

namespace fastgpu::envs {

/// On the node that the plan says, from this machine. It appears there at once, and is what its
/// manifest says, or not at all. Throws conflict where it does not fit the node, capacity where
/// there is no room, and as call_node.
void unpack_on_source(const Participants& nodes);

}  // namespace fastgpu::envs
