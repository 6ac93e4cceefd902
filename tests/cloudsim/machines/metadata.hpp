// The metadata service that a cloud offers to its instances.
#pragma once

#include "cloudsim/http/message.hpp"
#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

/// Answers the instance with the address `peer` in its vendor's protocol: tokens, and the notice
/// that a spot instance will be taken back.
Reply metadata(SimulatedWorld& world, const std::string& peer, const Request& request);

}  // namespace fastgpu::cloudsim
