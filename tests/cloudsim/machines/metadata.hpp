// What instances are told about themselves by their cloud's service on the machine.
#pragma once

#include "cloudsim/http/message.hpp"
#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

/// Answers the instance whose address is `peer`, in its vendor's words: tokens, and the
/// notice that a spot instance is taken back.
Reply metadata(World& world, const std::string& peer, const Request& request);

}  // namespace fastgpu::cloudsim
