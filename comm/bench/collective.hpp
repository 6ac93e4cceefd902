// The measured collectives: their names, inputs and outputs, and bandwidths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm::bench {

enum class BenchCollective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  message,    ///< A message from rank 0 to rank 1; other ranks do nothing.
  ping_pong,  ///< The same and back, into `out` of both; timed as one way.
  barrier
};
inline constexpr std::array kCollectives = {
    BenchCollective::all_reduce, BenchCollective::all_gather, BenchCollective::reduce_scatter,
    BenchCollective::broadcast,  BenchCollective::all_to_all, BenchCollective::message,
    BenchCollective::ping_pong,  BenchCollective::barrier};

inline constexpr std::array kTypes = {
    ElementType::float32, ElementType::float64, ElementType::float16, ElementType::bfloat16,
    ElementType::int32,   ElementType::int64,   ElementType::int8,    ElementType::uint8};

std::string_view name_of(BenchCollective collective) noexcept;
std::optional<BenchCollective> find_collective(std::string_view name) noexcept;
std::optional<ElementType> find_type(std::string_view name) noexcept;

bool is_reduction(BenchCollective collective) noexcept;
/// Returns whether only ranks 0 and 1 take part.
bool is_of_two_ranks(BenchCollective collective) noexcept;

/// Returns bus bandwidth divided by algorithm bandwidth, as nccl-tests defines them: the load of
/// the slowest link.
double bus_factor(BenchCollective collective, int ranks) noexcept;

/// One call of this rank: sums, from rank 0 if there is a root.
struct BenchCall {
  BenchCollective collective = BenchCollective::all_reduce;
  ElementType type = ElementType::float32;
  std::span<std::byte> in;
  std::span<std::byte> out;  ///< Equal to `in` for all_reduce, broadcast and message.

  /// Returns the length that nccl-tests counts: the longer of the two.
  Bytes bytes() const noexcept { return {in.size() > out.size() ? in.size() : out.size()}; }
};

/// Returns the length of a call on about `wanted` bytes: rounded down to whole units, at least one.
/// A unit is an element, or one element for each rank if the collective has blocks.
std::uint64_t usable_bytes(const BenchCall& call, int ranks, Bytes wanted) noexcept;

/// Returns `call` in `memory`, of which it takes both halves at most.
BenchCall placed(BenchCall call, int ranks, Bytes wanted, std::span<std::byte> memory) noexcept;

}  // namespace fastgpu::comm::bench
