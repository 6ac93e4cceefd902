// The sharing of a tile's elements among the threads of a warp: side by side, in the widest vectors
// that fit. Nothing here needs a GPU: a test plays all threads of a warp in turn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/gpu/host_device.hpp"

namespace fastgpu::comm::gpu {

/// One thread of those that share a tile.
struct Share {
  unsigned lane = 0;
  unsigned lanes = 1;
};

/// The bytes that one instruction loads or stores.
constexpr int kVectorBytes = 16;
/// The vectors that a thread has in flight at once.
constexpr int kInFlight = 4;

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Vector {
  T values[kWidth];
};

template <int kWidth, class T>
FASTGPU_HOST_DEVICE Vector<T, kWidth> load(const T* from) noexcept {
  return *reinterpret_cast<const Vector<T, kWidth>*>(from);
}

template <int kWidth, class T>
FASTGPU_HOST_DEVICE void store(T* to, const Vector<T, kWidth>& vector) noexcept {
  *reinterpret_cast<Vector<T, kWidth>*>(to) = vector;
}

/// Returns the number of elements before `pointer` is aligned for vectors of `width`.
template <class T>
FASTGPU_HOST_DEVICE std::uint64_t elements_before(const T* pointer, int width) noexcept {
  const auto past =
      reinterpret_cast<std::uintptr_t>(pointer) / sizeof(T) % static_cast<unsigned>(width);
  return past == 0 ? 0 : static_cast<unsigned>(width) - past;
}

/// Steps through `count` elements: one by one until vectors of kWidth are aligned, then those,
/// kInFlight at a time, then the rest. The threads of a warp touch memory side by side.
template <int kWidth, class Step>
FASTGPU_HOST_DEVICE void walk(std::uint64_t count, std::uint64_t head, Share share, Step& step) {
  if (head > count) head = count;
  for (std::uint64_t i = share.lane; i < head; i += share.lanes)
    step.template go<1, 1>(i, 0);
  const std::uint64_t vectors = (count - head) / kWidth;
  const std::uint64_t stride = std::uint64_t{share.lanes} * kWidth;
  std::uint64_t v = share.lane;
  for (; v + (kInFlight - 1) * std::uint64_t{share.lanes} < vectors; v += kInFlight * share.lanes)
    step.template go<kWidth, kInFlight>(head + v * kWidth, stride);
  for (; v < vectors; v += share.lanes)
    step.template go<kWidth, 1>(head + v * kWidth, 0);
  for (std::uint64_t i = head + vectors * kWidth + share.lane; i < count; i += share.lanes)
    step.template go<1, 1>(i, 0);
}

/// Steps through `count` elements with the widest vectors, at most kWidth, for which both arrays of
/// the step can be aligned at once.
template <int kWidth, class A, class B, class Step>
FASTGPU_HOST_DEVICE void walk_both(const A* a, const B* b, std::uint64_t count, Share share,
                                   Step& step) {
  const std::uint64_t head = elements_before(a, kWidth);
  if constexpr (kWidth > 1)
    if (head != elements_before(b, kWidth)) return walk_both<kWidth / 2>(a, b, count, share, step);
  walk<kWidth>(count, head, share, step);
}

template <class A, class B>
constexpr int kWidthOf = kVectorBytes /
                         static_cast<int>(sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B));

}  // namespace fastgpu::comm::gpu
