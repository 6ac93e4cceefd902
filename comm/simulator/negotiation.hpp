// How ranks agree on which gradients are ready: without a coordinator, and with one.
#pragma once

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// What a coordinator's messages hold, in bytes.
struct CoordinatorMessages {
  std::uint64_t request = 0;   ///< From each rank to rank 0.
  std::uint64_t response = 0;  ///< From rank 0 to every rank; not longer than a request.
};

/// Rank 0 receives every rank's request, looks at it, and broadcasts a response along a tree.
/// Elements are bytes.
Program coordinated_negotiation(Place place, const CoordinatorMessages& messages);

}  // namespace fastgpu::comm
