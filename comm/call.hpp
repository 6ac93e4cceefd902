// What a rank is doing, told to its neighbours before the data: ranks that have gone different ways
// get a sentence instead of a hang or a wrong sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/reduce.hpp"
#include "comm/transport.hpp"

namespace fastgpu::comm {

enum class CallKind : std::uint8_t { barrier, all_reduce, broadcast, all_gather };

/// One collective call. It is the first thing that any two ranks say to each other within it.
struct Call {
  CallKind kind = CallKind::barrier;
  std::uint64_t sequence = 0;  ///< Collectives that this communicator has begun before.
  std::uint64_t bytes = 0;     ///< Given by each rank.
  Reduction reduction{};       ///< Of all_reduce.
  Rank root{};                 ///< Of broadcast.
};

constexpr std::size_t kCallBytes = 32;
using EncodedCall = std::array<std::byte, kCallBytes>;

EncodedCall encode(const Call& call);

/// "all_reduce number 7 (sum of 10 float32)"
std::string describe(const Call& call);

/// Throws ErrorKind::usage, naming `peer` and both calls, where `theirs` is not `mine`.
void check_same(const Call& mine, const EncodedCall& theirs, Rank peer);

/// Compares `call` with both neighbours in the ring.
void agree_along_ring(Transport& transport, const Call& call);

/// Compares `call` with that of its root, along the tree that the data will take.
void agree_along_tree(Transport& transport, const Call& call);

}  // namespace fastgpu::comm
