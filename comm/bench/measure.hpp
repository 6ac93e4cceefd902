// How collectives are measured, the same for every library: batches of calls between barriers, the
// slowest rank of each batch, the median of several batches.
#pragma once

#include <functional>

#include "comm/bench/library.hpp"
#include "comm/bench/result.hpp"
#include "comm/bench/settings.hpp"

namespace fastgpu::comm::bench {

/// Called on rank 0 alone, as results come.
using Emit = std::function<void(const Result&)>;

/// Everything that `settings` ask for but models. Throws ErrorKind::usage, before anything is
/// measured, for what `library` has not; ErrorKind::remote where a result is wrong.
void measure_collectives(Library& library, const Settings& settings, const Emit& emit);

/// How many calls a batch has of those that take so many seconds each.
int calls_in_batch(double seconds);

}  // namespace fastgpu::comm::bench
