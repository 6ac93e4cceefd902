// Collectives whose steps grow with the logarithm of the ranks: in each, what a rank has doubles,
// or what it is left with halves. For short data and many ranks. (Thakur, Rabenseifner and Gropp
// 2005, sections 4.1 to 4.5; the all-gather for other numbers of ranks is Bruck's of 1997.)
#pragma once

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// Exchanges everything between partners, whose numbers differ in one bit: for other numbers of
/// ranks than powers of two, pairs of them act as one. Fewest steps, most bytes. Takes as much
/// scratch as there is data. Both partners compute the very same expression, the lower one's sum on
/// the left. Results are therefore equal to the last bit even if a op b is not b op a (NaN, -0).
Program all_reduce_by_recursive_doubling(RankPlace place, std::uint64_t count);

/// Exchanges halves between partners, then halves of halves, until each has reduced its slice, and
/// then the other way (Rabenseifner's). Twice the steps of recursive doubling, the bytes of a ring.
/// Most bytes go between ranks whose numbers are close.
Program all_reduce_by_halving_and_doubling(RankPlace place, std::uint64_t count, Cut cut);

/// Gathers blocks of `block` elements: input is this rank's own, data gets one from every rank.
/// Partners exchange what they have if the number of ranks is a power of two (recursive doubling);
/// else blocks go round in steps that double (Bruck's).
Program all_gather_blocks_by_doubling(RankPlace place, std::uint64_t block);

/// Reduces block `self` of every rank's input into data. The number of ranks must be a power of
/// two. Takes half as much scratch as there is input.
Program reduce_scatter_blocks_by_halving(RankPlace place, std::uint64_t block);

}  // namespace fastgpu::comm
