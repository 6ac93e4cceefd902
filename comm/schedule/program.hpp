// The steps of one rank in one collective, as data. Pure functions write them. An interpreter runs
// them over real transports, and a simulator over modelled ones.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

enum class Buffer : std::uint8_t {
  data,    ///< The caller's: input and result of collectives that work in place.
  input,   ///< The caller's, only read.
  scratch  ///< Program::scratch elements that live as long as the collective.
};

/// A stretch of one buffer, in elements. May be empty; then its offset is in the buffer, too.
struct Part {
  Buffer buffer = Buffer::data;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

enum class StepKind : std::uint8_t {
  send,            ///< Sends `from` to the peer.
  receive,         ///< Receives `to` from the peer.
  receive_reduce,  ///< Receives from the peer; to = to op the received data.
  copy,            ///< to = from.
  reduce           ///< to = to op from.
};

/// One step. Sends and receives of two ranks on one lane match by their order. Lanes are
/// independent of each other: a delay on one does not hold up another.
struct Step {
  StepKind kind = StepKind::copy;
  Rank peer{};            ///< The peer of a send or receive.
  std::uint8_t lane = 0;  ///< The lane of a send or receive.
  Part from{};
  Part to{};
};

/// The steps of one rank. They mean what they would if they ran one after another, with sends that
/// never wait for their receiver. They may run in any order, and many at once, that gives the same
/// result. Two steps keep their order if one writes what the other touches, and if they send to, or
/// receive from, the same peer on the same lane.
struct Program {
  std::vector<Step> steps;
  std::uint64_t scratch = 0;  ///< The number of elements.
};

}  // namespace fastgpu::comm
