// Collectives around a ring: every rank sends to its right and receives from its left, so that the
// bytes each rank moves hardly grow with the number of ranks.
#pragma once

#include <cstddef>
#include <span>

#include "comm/reduce.hpp"
#include "comm/transport.hpp"

namespace fastgpu::comm {

Rank left_of(const Transport& transport) noexcept;
Rank right_of(const Transport& transport) noexcept;

/// Reduces `data` element by element over all ranks, in place: a reduce-scatter, then an
/// all-gather. Each element is computed on one rank, in ring order, and copied to the others, so
/// the result is the same to the last bit on every rank and in every run.
///
/// `scratch` bounds both the extra memory and the size of one message; it is aligned for the
/// element and holds at least one. Every rank gives the same length of data and of scratch.
void ring_all_reduce(Transport& transport, std::span<std::byte> data, Reduction reduction,
                     std::span<std::byte> scratch);

/// Collects `mine` of every rank in `all`, ordered by rank. Every rank gives the same length, and
/// `all` is size() times as long.
void ring_all_gather(Transport& transport, std::span<const std::byte> mine,
                     std::span<std::byte> all);

}  // namespace fastgpu::comm
