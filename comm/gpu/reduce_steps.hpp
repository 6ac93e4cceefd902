// The steps of a walk over arrays of one type: reductions and divisions.
#pragma once

#include <cstdint>

#include "comm/gpu/host_device.hpp"
#include "comm/gpu/numbers.hpp"
#include "comm/gpu/operations.hpp"
#include "comm/gpu/walk.hpp"

namespace fastgpu::comm::gpu {

/// A step for into = into op from, in the type in which elements are calculated.
template <class T, class Op>
struct ReduceStep {
  T* into;
  const T* from;

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    Vector<T, kWidth> a[kCount];
    Vector<T, kWidth> b[kCount];
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      a[k] = load<kWidth>(into + at + static_cast<unsigned>(k) * stride);
      b[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
    }
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      FASTGPU_UNROLL
      for (int i = 0; i < kWidth; ++i)
        a[k].values[i] = Element<T>::of(Op::of(to_lane(a[k].values[i]), to_lane(b[k].values[i])));
      store(into + at + static_cast<unsigned>(k) * stride, a[k]);
    }
  }
};

template <class T>
struct DivideStep {
  T* data;
  int divisor;

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      T* const place = data + at + static_cast<unsigned>(k) * stride;
      Vector<T, kWidth> vector = load<kWidth>(place);
      FASTGPU_UNROLL
      for (int i = 0; i < kWidth; ++i)
        vector.values[i] = Element<T>::of(divided(to_lane(vector.values[i]), divisor));
      store(place, vector);
    }
  }
};

}  // namespace fastgpu::comm::gpu
