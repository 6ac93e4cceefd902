// The ways in which ranks agree on ready gradients: without a coordinator, and with one.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// Returns, by rank, the messages between `ranks` ranks at the end of a step in which all of their
/// gradients were ready and finite. They are those of the library's own negotiation, which is run
/// for it. Elements are bytes.
std::vector<Program> negotiation_of_a_step(int ranks, std::size_t gradients);

/// The sizes of a coordinator's messages, in bytes.
struct CoordinatorMessages {
  std::uint64_t request = 0;   ///< Sent by each rank to rank 0.
  std::uint64_t response = 0;  ///< Sent by rank 0 to every rank; not longer than a request.
};

/// Returns the program in which rank 0 receives every rank's request, looks at it, and broadcasts a
/// response along a tree. Elements are bytes.
Program coordinated_negotiation(RankPlace place, const CoordinatorMessages& messages);

}  // namespace fastgpu::comm
