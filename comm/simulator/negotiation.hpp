// How ranks agree on which gradients are ready: without a coordinator, and with one.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// What `ranks` ranks send each other at the end of a step in which all of their gradients were
/// ready and finite, by rank: the messages of the library's own negotiation, which is run for it.
/// Elements are bytes.
std::vector<Program> negotiation_of_a_step(int ranks, std::size_t gradients);

/// What a coordinator's messages hold, in bytes.
struct CoordinatorMessages {
  std::uint64_t request = 0;   ///< From each rank to rank 0.
  std::uint64_t response = 0;  ///< From rank 0 to every rank; not longer than a request.
};

/// Rank 0 receives every rank's request, looks at it, and broadcasts a response along a tree.
/// Elements are bytes.
Program coordinated_negotiation(Place place, const CoordinatorMessages& messages);

}  // namespace fastgpu::comm
