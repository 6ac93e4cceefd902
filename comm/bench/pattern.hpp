// Whether a library's collective does what it says: numbers that go in, and those that must come
// out.
#pragma once

#include "comm/bench/collective.hpp"

namespace fastgpu::comm::bench {

/// Which rank of how many.
struct Place {
  int rank = 0;
  int ranks = 1;
};

/// Writes what this rank gives, and into a separate output what no rank gives. Sums of it are exact
/// in every type.
void fill(const Call& call, Place place);

/// Throws ErrorKind::remote, naming collective, type, rank, the first element that is wrong and
/// both values, where the call on `fill`ed memory has not done what it must.
void check(const Call& call, Place place);

}  // namespace fastgpu::comm::bench
