// Element-wise reductions: what is done to numbers while they travel.
#pragma once

#include <cstddef>
#include <span>

#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

/// into[i] = into[i] op from[i]; average adds, and `finish` divides. Both spans have the same
/// length, a multiple of the element's size, are aligned for it, and do not overlap.
void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction);

/// Reduces every source in turn, each into.size() bytes, while `into` is read and written in memory
/// once. The result has the bits that reduce_into with one source after the other gives.
void reduce_into(std::span<std::byte> into, std::span<const std::byte* const> sources,
                 Reduction reduction);

/// Turns what was accumulated over `ranks` contributions, at least one, into the result.
void finish(std::span<std::byte> data, Reduction reduction, int ranks);

}  // namespace fastgpu::comm
