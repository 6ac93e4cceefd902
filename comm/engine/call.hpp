// The present call of a rank, sent to its neighbours before the data. Ranks that have diverged get
// a sentence instead of a hang or a wrong sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "comm/kernels/reduce.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

enum class CallKind : std::uint8_t {
  barrier,
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  split,   ///< An all_gather of this library's own, by which ranks make groups.
  message  ///< A message from one rank to another, unknown to the others.
};

/// Returns whether numbers of several ranks become one.
constexpr bool is_reduction(CallKind kind) noexcept {
  return kind == CallKind::all_reduce || kind == CallKind::reduce_scatter;
}

/// The plan of all-reduces, if one was set: by the user, or by the search for the quickest.
struct AllReducePlan {
  std::optional<Algorithm> algorithm{};
  std::uint8_t piece_log2 = 0;  ///< Messages are cut in pieces of 2^piece_log2 bytes; 0: the usual.

  friend auto operator<=>(const AllReducePlan&, const AllReducePlan&) = default;
};

/// One collective call: the first message between any two ranks within it.
struct Call {
  CallKind kind = CallKind::barrier;
  /// The type of elements that are moved, not reduced, for the comparison of ranks. Their number is
  /// in bytes.
  ElementType moved = ElementType::uint8;
  /// The number of collectives that this communicator has begun before.
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;  ///< The bytes that each rank gives.
  Reduction reduction{};    ///< Set for all_reduce and reduce_scatter.
  Rank root{};              ///< Set for broadcast.
  AllReducePlan plan{};     ///< Set for all_reduce.
};

/// The memory of a call: what it reads, and what it writes. Empty for none.
struct CallMemory {
  std::span<const std::byte> in{};
  std::span<const std::byte> out{};
};

/// Throws ErrorKind::usage, naming both ranges, if a call of `rank` would write to memory that it
/// still reads. A call may read and write the very same memory if it is not one of several blocks,
/// and all_gather may find the rank's own block in its place.
void check_memory(CallKind kind, const CallMemory& memory, Rank rank);

Note encode(const Call& call);

/// Returns "all_reduce number 7 (sum of 10 float32)".
std::string describe(const Call& call);

/// A rank and the note of its present call.
struct NoteOf {
  Rank rank{};
  const Note& note;
};

/// Throws ErrorKind::usage, naming both ranks and both calls, if `theirs` is not `mine`.
void check_same(const NoteOf& mine, const NoteOf& theirs);

}  // namespace fastgpu::comm
