// Launches of kernels on the device: as many warps as it runs at once, each taking tile after tile.
// Only for CUDA sources of this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "comm/gpu/check.hpp"
#include "comm/gpu/memory.hpp"
#include "comm/gpu/tiles.hpp"
#include "comm/gpu/walk.hpp"

namespace fastgpu::comm::gpu {

constexpr unsigned kLanesInWarp = 32;
constexpr int kThreads = 256;
/// The minimum number of blocks that share a processor: the 128 registers that are left for a
/// thread hold what is in flight. Without this number ptxas aims at more blocks, and spills.
constexpr int kBlocksAtOnce = 2;
constexpr unsigned kWarpsInBlock = kThreads / kLanesInWarp;
constexpr unsigned kAllLanes = 0xffffffff;

__device__ inline Share share_of_this_thread() {
  return {threadIdx.x % kLanesInWarp, kLanesInWarp};
}

/// Calls work(tile number, share) for all tiles of [0, tiles).
template <class Work>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    for_each_tile(std::uint64_t tiles, Work work) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * kWarpsInBlock;
  const std::uint64_t first =
      std::uint64_t{blockIdx.x} * kWarpsInBlock + threadIdx.x / kLanesInWarp;
  for (std::uint64_t tile = first; tile < tiles; tile += warps)
    work(tile, share_of_this_thread());
}

/// Returns the number of blocks of `kernel` that the current device runs at once.
template <class Work>
std::uint64_t resident_blocks() {
  int device = 0;
  int processors = 0;
  int blocks = 0;
  check(cudaGetDevice(&device), "asking for the current GPU");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "counting a GPU's processors");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, for_each_tile<Work>, kThreads, 0),
        "asking how many blocks fit");
  return static_cast<std::uint64_t>(processors) * static_cast<std::uint64_t>(blocks);
}

template <class Work>
void launch(std::uint64_t tiles, const Work& work, StreamHandle stream, std::string_view doing) {
  if (tiles == 0) return;
  const std::uint64_t wanted = (tiles + kWarpsInBlock - 1) / kWarpsInBlock;
  const auto blocks = static_cast<unsigned>(std::min(wanted, resident_blocks<Work>()));
  Work argument = work;
  void* arguments[] = {&tiles, &argument};
  // After <<<>>> only cudaGetLastError is left, which also returns older errors of the program.
  check(cudaLaunchKernel(for_each_tile<Work>, dim3(blocks), dim3(kThreads), arguments, 0, stream),
        doing);
}

/// Writes to `found` the first element of the tile that is not finite, if the threads of this warp
/// have met one. All of them call it.
template <class Step>
__device__ void report(const Step& step, const Tile& tile, Share share, std::uint64_t* found) {
  if (__any_sync(kAllLanes, step.met_non_finite()) == 0) return;
  for (std::uint64_t base = 0; base < tile.count; base += share.lanes) {
    const std::uint64_t at = base + share.lane;
    const bool is_bad = at < tile.count && step.is_non_finite(at);
    const unsigned bad = __ballot_sync(kAllLanes, is_bad);
    if (bad == 0) continue;
    const std::uint64_t index = tile.begin + base + static_cast<unsigned>(__ffs(bad)) - 1;
    if (share.lane == 0)
      atomicMin(reinterpret_cast<unsigned long long*>(found + tile.tensor), index);
    return;
  }
}

}  // namespace fastgpu::comm::gpu
