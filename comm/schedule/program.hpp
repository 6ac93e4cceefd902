// What one rank does in one collective, as data: written by pure functions, carried out by an
// interpreter over real transports, and by a simulator over modelled ones.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/rank.hpp"

namespace fastgpu::comm {

enum class Buffer : std::uint8_t {
  data,    ///< The caller's: input and result of collectives that work in place.
  input,   ///< The caller's, only read.
  scratch  ///< Program::scratch elements that live as long as the collective.
};

/// A stretch of one buffer, in elements. May be empty; then its offset means nothing.
struct Part {
  Buffer buffer = Buffer::data;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

enum class StepKind : std::uint8_t {
  send,            ///< `from`, to the peer.
  receive,         ///< From the peer, into `to`.
  receive_reduce,  ///< From the peer; to = to op what came.
  copy,            ///< to = from.
  reduce           ///< to = to op from.
};

/// Sends and receives of two ranks on one lane match by their order. Lanes are independent of each
/// other: what is late on one does not hold up another.
struct Step {
  StepKind kind = StepKind::copy;
  Rank peer{};            ///< Of send and receives.
  std::uint8_t lane = 0;  ///< Of send and receives.
  Part from{};
  Part to{};
};

/// The steps mean what they would if they ran one after another, with sends that never wait for
/// their receiver. Whoever runs them may do so in any order, and many at once, that gives the same
/// result: two steps keep their order where one writes what the other touches, and where they send
/// to, or receive from, the same peer on the same lane.
struct Program {
  std::vector<Step> steps;
  std::uint64_t scratch = 0;  ///< Elements.
};

}  // namespace fastgpu::comm
