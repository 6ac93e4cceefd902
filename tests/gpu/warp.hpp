// All threads of a warp, played one after the other on the CPU.
#pragma once

#include "comm/gpu/walk.hpp"

namespace fastgpu::test {

constexpr unsigned kLanes = 32;

/// Runs a copy of `step` as each thread, and returns whether `met` says so of any of them.
template <int kWidth, class A, class B, class Step, class Met>
bool play_warp(const A* a, const B* b, std::uint64_t count, const Step& step, Met met) {
  bool any = false;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Step mine = step;
    comm::gpu::walk_both<kWidth>(a, b, count, comm::gpu::Share{lane, kLanes}, mine);
    any |= met(mine);
  }
  return any;
}

/// The order in which the threads of a phase are played: a kernel must not depend on it.
enum class Turn { ascending, descending };

template <int kPhase, class Phases>
void play_phase(const Phases& phases, std::uint64_t tile, unsigned step, Turn turn,
                typename Phases::Scratch& scratch) {
  for (unsigned i = 0; i < kLanes; ++i)
    phases.template go<kPhase>(tile, step, turn == Turn::ascending ? i : kLanes - 1 - i, scratch);
  if constexpr (kPhase + 1 < Phases::kPhases)
    play_phase<kPhase + 1>(phases, tile, step, turn, scratch);
}

/// Plays the warps of all tiles, one after the other.
template <class Phases>
void play_phases(std::uint64_t tiles, const Phases& phases, Turn turn) {
  for (std::uint64_t i = 0; i < tiles; ++i) {
    const std::uint64_t tile = turn == Turn::ascending ? i : tiles - 1 - i;
    typename Phases::Scratch scratch;
    for (unsigned step = 0; step < phases.steps(tile); ++step)
      play_phase<0>(phases, tile, step, turn, scratch);
  }
}

}  // namespace fastgpu::test
