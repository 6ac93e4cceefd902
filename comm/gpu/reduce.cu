// Element-wise reductions of arrays in device memory.
#include <cassert>

#include "comm/gpu/kernels.hpp"
#include "comm/gpu/launch.hpp"
#include "comm/gpu/reduce_steps.hpp"

namespace fastgpu::comm::gpu {
namespace {

template <class T, class Op>
struct Reduce {
  T* into;
  const T* from;
  std::uint64_t count;

  __device__ void operator()(std::uint64_t tile, Share share) const {
    ReduceStep<T, Op> step{into + tile * kTileElements, from + tile * kTileElements};
    walk_both<kWidthOf<T, T>>(step.into, step.from, elements_in_tile(count, tile), share, step);
  }
};

template <class T>
struct Divide {
  T* data;
  std::uint64_t count;
  int divisor;

  __device__ void operator()(std::uint64_t tile, Share share) const {
    DivideStep<T> step{data + tile * kTileElements, divisor};
    walk_both<kWidthOf<T, T>>(step.data, step.data, elements_in_tile(count, tile), share, step);
  }
};

template <class Action>
void with_type(ElementType type, Action action) {
  switch (type) {
    case ElementType::float32:
      return action.template operator()<float>();
    case ElementType::float64:
      return action.template operator()<double>();
    case ElementType::int32:
      return action.template operator()<std::int32_t>();
    case ElementType::int64:
      return action.template operator()<std::int64_t>();
    case ElementType::float16:
      return action.template operator()<Float16>();
    case ElementType::bfloat16:
      return action.template operator()<BFloat16>();
    case ElementType::int8:
      return action.template operator()<std::int8_t>();
    case ElementType::uint8:
      return action.template operator()<std::uint8_t>();
  }
}

template <class Action>
void with_op(ReduceOp op, Action action) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return action.template operator()<Sum>();
    case ReduceOp::min:
      return action.template operator()<Least>();
    case ReduceOp::max:
      return action.template operator()<Greatest>();
    case ReduceOp::product:
      return action.template operator()<Product>();
  }
}

}  // namespace

void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction,
                 StreamHandle stream) {
  assert(into.size() == from.size());
  with_type(reduction.type, [&]<class T>() {
    with_op(reduction.op, [&]<class Op>() {
      const Reduce<T, Op> work{reinterpret_cast<T*>(into.data()),
                               reinterpret_cast<const T*>(from.data()), into.size() / sizeof(T)};
      launch(tiles_of(work.count), work, stream, "reducing");
    });
  });
}

void finish(std::span<std::byte> data, Reduction reduction, int ranks, StreamHandle stream) {
  if (reduction.op != ReduceOp::average) return;
  with_type(reduction.type, [&]<class T>() {
    const Divide<T> work{reinterpret_cast<T*>(data.data()), data.size() / sizeof(T), ranks};
    launch(tiles_of(work.count), work, stream, "dividing");
  });
}

}  // namespace fastgpu::comm::gpu
