// Collectives by direct exchange: every rank deals with every other at once. Two steps of latency
// for any number of ranks, and as many bytes as a ring; only the number of messages grows. Best for
// ranks that share memory. (The pairwise exchange of Thakur, Rabenseifner and Gropp 2005, with all
// its steps in flight together.)
#pragma once

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// Leaves the result in slice `self` of the data, and the others as they were.
Program reduce_scatter_directly(RankPlace place, std::uint64_t count, Cut cut);

/// Gathers the slices. Slice `self` of the data is this rank's own to begin with.
Program all_gather_directly(RankPlace place, std::uint64_t count, Cut cut);

/// Reduces each slice piece by piece at its owner, which sends each piece while it is in the cache.
Program all_reduce_directly(RankPlace place, std::uint64_t count, Cut cut);

/// Sends the root's data to every other rank.
Program broadcast_directly(RankPlace place, int root, std::uint64_t count);

/// Lets no rank leave before every other has come: each notifies each.
Program barrier_directly(RankPlace place);

/// Gathers blocks of `block` elements: input is this rank's own, data gets one from every rank.
Program all_gather_blocks(RankPlace place, std::uint64_t block, Cut cut);

/// Exchanges blocks of `block` elements: input has one for every rank, data one from every rank.
Program all_to_all(RankPlace place, std::uint64_t block, Cut cut);

}  // namespace fastgpu::comm
