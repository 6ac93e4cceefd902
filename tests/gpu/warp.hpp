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

}  // namespace fastgpu::test
