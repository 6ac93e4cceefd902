// The instances that use resources, even if reads do not show them yet.
#pragma once

#include <string>
#include <vector>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

inline std::vector<const Instance*> live_instances(const SimulatedWorld& world,
                                                   const Scope& scope) {
  std::vector<const Instance*> out;
  for (const auto& [id, instance] : world.instances)
    if (instance.scope == scope && instance.state != State::terminated) out.push_back(&instance);
  return out;
}

/// Returns the public address that reads show. With real machines it is known only once they have
/// booted.
inline std::string told_public_address(const SimulatedWorld& world, const Instance& instance) {
  const bool is_unknown = world.machines != nullptr && instance.state == State::pending;
  return is_unknown ? std::string() : instance.public_address;
}

}  // namespace fastgpu::cloudsim
