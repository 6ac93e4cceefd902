#include "comm/kernels/reduce.hpp"

#include <algorithm>
#include <cassert>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

/// The length of a block of the destination: it stays in the first-level cache while the sources
/// pass.
constexpr std::size_t kBlockBytes = 8 << 10;

Kernels::Reduce kernel_of(Reduction reduction) {
  return kernels()
      .reduce[static_cast<std::size_t>(reduction.type)][static_cast<std::size_t>(reduction.op)];
}

}  // namespace

void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction) {
  assert(into.size() == from.size());
  kernel_of(reduction)(into.data(), from.data(), into.size() / size_of(reduction.type));
}

void reduce_into(std::span<std::byte> into, std::span<const std::byte* const> sources,
                 Reduction reduction) {
  const Kernels::Reduce reduce = kernel_of(reduction);
  for (std::size_t at = 0; at < into.size(); at += kBlockBytes) {
    const std::size_t count = std::min(kBlockBytes, into.size() - at) / size_of(reduction.type);
    for (const std::byte* const source : sources)
      reduce(into.data() + at, source + at, count);
  }
}

void finish(std::span<std::byte> data, Reduction reduction, int ranks) {
  if (reduction.op != ReduceOp::average) return;
  kernels().divide[static_cast<std::size_t>(reduction.type)](
      data.data(), data.size() / size_of(reduction.type), ranks);
}

}  // namespace fastgpu::comm
