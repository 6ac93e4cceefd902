// All-reduce among partners whose numbers differ in one bit, so that the steps grow with the
// logarithm of the ranks. For other numbers than powers of two, pairs of them act as one. (Thakur,
// Rabenseifner and Gropp 2005, sections 4.4 and 4.5.)
#pragma once

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// Exchanges everything between partners: fewest steps, most bytes; for short data. Takes as much
/// scratch as there is data. Both partners compute the very same expression, the lower one's sum on
/// the left. Results are therefore equal to the last bit even if a op b is not b op a (NaN, -0).
Program all_reduce_by_recursive_doubling(RankPlace place, std::uint64_t count);

/// Exchanges halves between partners, then halves of halves, until each has reduced its slice, and
/// then the other way (Rabenseifner's). Twice the steps of recursive doubling, the bytes of a ring.
/// Most bytes go between ranks whose numbers are close.
Program all_reduce_by_halving_and_doubling(RankPlace place, std::uint64_t count, Cut cut);

}  // namespace fastgpu::comm
