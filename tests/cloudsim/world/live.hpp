// The instances that hold what they use, whether reads know of them yet or not.
#pragma once

#include <vector>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

inline std::vector<const Instance*> live_instances(const World& world, const Scope& scope) {
  std::vector<const Instance*> out;
  for (const auto& [id, instance] : world.instances)
    if (instance.scope == scope && instance.state != State::terminated) out.push_back(&instance);
  return out;
}

}  // namespace fastgpu::cloudsim
