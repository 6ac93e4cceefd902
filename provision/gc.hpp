// The search for the remains of killed runs, and their removal.
#pragma once

#include <cstdint>
#include <vector>

#include "provision/settle.hpp"

namespace fastgpu::provision {

enum class GcMode : std::uint8_t {
  remove,
  look,  ///< Changes nothing; reports what would be removed.
};

/// Rolls unfinished creations back, finishes deletions and scalings, and closes intents of clusters
/// that are gone. Removes every resource with our marks that belongs to no cluster, at any place.
/// Leaves clusters in use alone. Failures are in the list, with one for each provider that lacks
/// credentials and has clusters on record; throws only if the state directory fails.
std::vector<Settled> collect_garbage(const Tools& tools, GcMode mode);

}  // namespace fastgpu::provision
