// Collectives along a binomial tree or a chain, both pipelined by pieces: few messages for a rank,
// and steps that grow with the logarithm of the ranks, or with the ranks.
// (Binomial trees as in Thakur, Rabenseifner and Gropp 2005; the barrier by dissemination is of
// Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988.)
#pragma once

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// Sends the root's data along the tree. `root`, here and below, is the number of a rank, as
/// RankPlace::self is.
Program broadcast_by_tree(RankPlace place, int root, std::uint64_t count, Cut cut);

/// Passes the root's data from each rank to the next: for long data and many pieces.
Program broadcast_by_chain(RankPlace place, int root, std::uint64_t count, Cut cut);

/// Leaves the result in the root's data, and sums half-made elsewhere.
Program reduce_by_tree(RankPlace place, int root, std::uint64_t count, Cut cut);

Program all_reduce_by_tree(RankPlace place, std::uint64_t count, Cut cut);

/// Ends on no rank before it has begun on every rank. Sends one element without a meaning.
Program barrier(RankPlace place);

}  // namespace fastgpu::comm
