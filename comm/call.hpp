// What a rank is doing, told to its neighbours before the data: ranks that have gone different ways
// get a sentence instead of a hang or a wrong sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/reduce.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/transports/rail.hpp"

namespace fastgpu::comm {

enum class CallKind : std::uint8_t {
  barrier,
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  message  ///< From one rank to another, which others know nothing of.
};

/// One collective call. It is the first thing that any two ranks say to each other within it.
/// How all-reduces go, where somebody has named it: the user, or who tries what is quickest.
struct AllReduceWay {
  std::optional<Algorithm> algorithm{};
  std::uint8_t piece_log2 = 0;  ///< Messages are cut in pieces of 2^piece_log2 bytes; 0: the usual.

  friend auto operator<=>(const AllReduceWay&, const AllReduceWay&) = default;
};

struct Call {
  CallKind kind = CallKind::barrier;
  std::uint64_t sequence = 0;  ///< Collectives that this communicator has begun before.
  std::uint64_t bytes = 0;     ///< Given by each rank.
  Reduction reduction{};       ///< Of all_reduce and reduce_scatter.
  Rank root{};                 ///< Of broadcast.
  AllReduceWay way{};          ///< Of all_reduce.
};

Note encode(const Call& call);

/// "all_reduce number 7 (sum of 10 float32)"
std::string describe(const Call& call);

/// What a rank is in.
struct CallOf {
  Rank rank{};
  Call call{};
};
struct NoteOf {
  Rank rank{};
  const Note& note;
};

/// Throws ErrorKind::usage, naming both ranks and both calls, where `theirs` is not `mine`.
void check_same(const CallOf& mine, const NoteOf& theirs);

}  // namespace fastgpu::comm
