// Everything that runs which died left behind, found and removed.
#pragma once

#include <cstdint>
#include <vector>

#include "provision/settle.hpp"

namespace fastgpu::provision {

enum class GcMode : std::uint8_t {
  remove,
  look,  ///< Changes nothing; says what would be removed.
};

/// Rolls unfinished creations back, finishes deletions and scalings, closes intents of clusters
/// that are gone, and removes what carries our marks in any place but belongs to no cluster.
/// Clusters that somebody is working on are left alone. Failures are in the list; throws only where
/// the state directory fails.
std::vector<Settled> collect_garbage(const Tools& tools, GcMode mode);

}  // namespace fastgpu::provision
