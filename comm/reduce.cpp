#include "comm/reduce.hpp"

#include <algorithm>
#include <cassert>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

/// Of the destination: stays in the first-level cache while the sources pass.
constexpr std::size_t kBlockBytes = 8 << 10;

Kernels::Reduce kernel_of(Reduction reduction) {
  return kernels()
      .reduce[static_cast<std::size_t>(reduction.type)][static_cast<std::size_t>(reduction.op)];
}

}  // namespace

std::size_t size_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::float32:
    case ElementType::int32:
      return 4;
    case ElementType::float64:
    case ElementType::int64:
      return 8;
    case ElementType::float16:
    case ElementType::bfloat16:
      return 2;
    case ElementType::int8:
    case ElementType::uint8:
      return 1;
  }
  return 0;
}

std::string_view name_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::float32:
      return "float32";
    case ElementType::float64:
      return "float64";
    case ElementType::int32:
      return "int32";
    case ElementType::int64:
      return "int64";
    case ElementType::float16:
      return "float16";
    case ElementType::bfloat16:
      return "bfloat16";
    case ElementType::int8:
      return "int8";
    case ElementType::uint8:
      return "uint8";
  }
  return "unknown type";
}

std::string_view name_of(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::average:
      return "average";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::product:
      return "product";
  }
  return "unknown operation";
}

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
