// The collectives that are measured: their names, what goes in and comes out, their bandwidths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "comm/reduce.hpp"

namespace fastgpu::comm::bench {

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  barrier
};
inline constexpr std::array kCollectives = {Collective::all_reduce,     Collective::all_gather,
                                            Collective::reduce_scatter, Collective::broadcast,
                                            Collective::all_to_all,     Collective::barrier};

inline constexpr std::array kTypes = {
    ElementType::float32, ElementType::float64, ElementType::float16, ElementType::bfloat16,
    ElementType::int32,   ElementType::int64,   ElementType::int8,    ElementType::uint8};

std::string_view name_of(Collective collective) noexcept;
std::optional<Collective> find_collective(std::string_view name) noexcept;
std::optional<ElementType> find_type(std::string_view name) noexcept;

bool is_reduction(Collective collective) noexcept;

/// Bus bandwidth beside algorithm bandwidth, as nccl-tests defines them: what the slowest link
/// would have to carry.
double bus_factor(Collective collective, int ranks) noexcept;

/// One call as this rank makes it: sums, from rank 0 where there is a root.
struct Call {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::float32;
  std::span<std::byte> in;
  std::span<std::byte> out;  ///< The same memory as `in` for all_reduce and broadcast.

  /// What nccl-tests counts: the longer of the two.
  Bytes bytes() const noexcept { return {in.size() > out.size() ? in.size() : out.size()}; }
};

/// A call on about `wanted` bytes: rounded down to whole elements, and blocks of one for each rank
/// where the collective has blocks, at least one of them.
std::uint64_t usable_bytes(const Call& call, int ranks, Bytes wanted) noexcept;

/// `call` in `memory`, of which it takes both halves at most.
Call placed(Call call, int ranks, Bytes wanted, std::span<std::byte> memory) noexcept;

}  // namespace fastgpu::comm::bench
