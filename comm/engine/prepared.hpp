// A program made ready to be run many times.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/schedule/dependencies.hpp"
#include "comm/schedule/program.hpp"

namespace fastgpu::comm {

/// Most messages on one channel, and most of lanes: what a message's tag has room for.
constexpr std::uint64_t kMostOnChannel = std::uint64_t{1} << 20;

/// Where the interpreter divides the sums of an average. Part of the plan: all ranks do the same.
enum class Averaging : std::uint8_t {
  none,
  before,   ///< By every rank, what it gives: numbers of 16 bits have no room for their sum.
  of_sums,  ///< Once, by the rank that has summed them, before they are passed on.
  at_end    ///< By every rank, all its data: for programs in which every rank sums.
};

struct PreparedProgram {
  /// Throws ErrorKind::usage where a channel has more messages than can be told apart,
  /// ErrorKind::internal where sums and half-made sums cannot be.
  PreparedProgram(Program program, Averaging averaging);

  Program program;
  Dependencies dependencies;
  std::vector<std::uint32_t> number;  ///< Of each step: its place on its channel.
  std::vector<bool> carries_note;     ///< Of each step: the first to its peer, which has the note.
  std::vector<std::uint32_t> transfer;  ///< Of each step: its place among sends, or receives.
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;

  Averaging averaging;
  std::vector<bool> is_sum;  ///< Of each step: whether its part is a whole sum now, to be divided.

 private:
  void number_messages();
  void find_sums();
};

}  // namespace fastgpu::comm
