// Collectives around a ring: every rank sends to its right and receives from its left. The bytes
// that each rank moves hardly grow with the number of ranks, and its messages grow with it.
// (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009; buckets in Thakur,
// Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005.)
#pragma once

#include "comm/schedule/compose.hpp"

namespace fastgpu::comm {

/// Leaves the result in slice `self` of the data, and sums half-made in the others.
Program reduce_scatter_by_ring(RankPlace place, std::uint64_t count, Cut cut);

/// Gathers the slices. Slice `self` of the data is this rank's own to begin with.
Program all_gather_by_ring(RankPlace place, std::uint64_t count, Cut cut);

Program all_reduce_by_ring(RankPlace place, std::uint64_t count, Cut cut);

}  // namespace fastgpu::comm
