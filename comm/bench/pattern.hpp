// A check of a library's collectives: numbers that go in, and those that must come out.
#pragma once

#include "comm/bench/collective.hpp"

namespace fastgpu::comm::bench {

/// One rank of a job.
struct BenchRank {
  int rank = 0;
  int ranks = 1;
};

/// Writes this rank's input, and into a separate output numbers that no rank sends. Their sums are
/// exact in every type.
void fill(const BenchCall& call, BenchRank place);

/// Checks a call on `fill`ed memory. Throws ErrorKind::remote, naming collective, type, rank, the
/// first wrong element and both values, for a wrong result.
void check(const BenchCall& call, BenchRank place);

}  // namespace fastgpu::comm::bench
