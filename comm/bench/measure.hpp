// The measurement of collectives, the same for every library: batches of calls between barriers,
// the slowest rank of each batch, the median of several batches.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/bench/bench_library.hpp"
#include "comm/bench/bench_settings.hpp"
#include "comm/bench/result.hpp"

namespace fastgpu::comm::bench {

/// A receiver of results, called on rank 0 alone, as they come.
using Emit = std::function<void(const BenchResult&)>;

/// Measures everything in `settings` except models. Throws ErrorKind::usage, before the first
/// measurement, for calls that `library` lacks; ErrorKind::remote if a result is wrong.
void measure_collectives(BenchLibrary& library, const BenchSettings& settings, const Emit& emit);

/// One of several libraries that take turns, and the memory of its data.
struct Contestant {
  BenchLibrary& library;
  std::string name;  ///< The name of its results.
  std::span<std::byte> memory;
};

/// The state of the caches before a call. In `warm` batches the calls before it have left its data
/// there, as far as it fits; before each `cold` call the rank has read other memory.
enum class Caches : std::uint8_t { warm, cold };

/// Returns the memory that each contestant needs for the calls of `settings`.
Bytes memory_in_turns(const BenchSettings& settings, int ranks);

/// Measures as measure_collectives does, the contestants in turns within each repetition, so that a
/// change of the machine's load meets all of them alike. All have the same ranks.
void measure_in_turns(std::span<const Contestant> contestants, const BenchSettings& settings,
                      Caches caches, const Emit& emit);

/// Returns the number of calls in a batch of calls that take this many seconds each.
int calls_in_batch(double seconds);

}  // namespace fastgpu::comm::bench
