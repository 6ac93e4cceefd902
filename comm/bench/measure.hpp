// The measurement of collectives, the same for every library: batches of calls between barriers,
// the slowest rank of each batch, the median of several batches.
#pragma once

#include <functional>

#include "comm/bench/library.hpp"
#include "comm/bench/result.hpp"
#include "comm/bench/settings.hpp"

namespace fastgpu::comm::bench {

/// A receiver of results, called on rank 0 alone, as they come.
using Emit = std::function<void(const Result&)>;

/// Measures everything in `settings` except models. Throws ErrorKind::usage, before the first
/// measurement, for calls that `library` lacks; ErrorKind::remote if a result is wrong.
void measure_collectives(Library& library, const Settings& settings, const Emit& emit);

/// Returns the number of calls in a batch of calls that take this many seconds each.
int calls_in_batch(double seconds);

}  // namespace fastgpu::comm::bench
