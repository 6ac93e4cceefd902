// The steps of a walk over two arrays of different types: copies, conversions and additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "comm/gpu/host_device.hpp"
#include "comm/gpu/numbers.hpp"
#include "comm/gpu/operations.hpp"
#include "comm/gpu/walk.hpp"

namespace fastgpu::comm::gpu {

/// A step that copies the bits, as words if they fill some: small integers would not stay in
/// registers.
template <class T>
struct CopyStep {
  T* to;
  const T* from;

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    constexpr std::size_t kBytes = kWidth * sizeof(T);
    using Word = std::conditional_t<kBytes % sizeof(std::uint32_t) == 0, std::uint32_t, T>;
    constexpr int kWords = static_cast<int>(kBytes / sizeof(Word));
    Vector<Word, kWords> vectors[kCount];
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k)
      vectors[k] = load<kWords>(
          reinterpret_cast<const Word*>(from + at + static_cast<unsigned>(k) * stride));
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k)
      store(reinterpret_cast<Word*>(to + at + static_cast<unsigned>(k) * stride), vectors[k]);
  }
};

/// A step for to = from * scale. It remembers the largest magnitude, so that one comparison at the
/// end shows whether anything written is not finite.
template <class To, class From>
struct ConvertStep {
  using Lane = LaneOf<To>;

  To* to;
  const From* from;
  Lane scale;
  SignedOf<Lane> largest = 0;

  FASTGPU_HOST_DEVICE Lane value(From element) const noexcept {
    return scaled(static_cast<Lane>(to_lane(element)), scale);
  }

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    Vector<From, kWidth> in[kCount];
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k)
      in[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      Vector<To, kWidth> out;
      FASTGPU_UNROLL
      for (int i = 0; i < kWidth; ++i) {
        const Lane lane = value(in[k].values[i]);
        largest = magnitude_of(lane) > largest ? magnitude_of(lane) : largest;
        out.values[i] = Element<To>::of(lane);
      }
      store(to + at + static_cast<unsigned>(k) * stride, out);
    }
  }

  FASTGPU_HOST_DEVICE bool met_non_finite() const noexcept {
    return largest >= Format<To>::kTooLarge;
  }
  FASTGPU_HOST_DEVICE bool is_non_finite(std::uint64_t at) const noexcept {
    return magnitude_of(value(from[at])) >= Format<To>::kTooLarge;
  }
};

/// A step for to = to + from * scale.
template <class To, class From>
struct AddStep {
  using Lane = LaneOf<To>;

  To* to;
  const From* from;
  Lane scale;

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    Vector<From, kWidth> in[kCount];
    Vector<To, kWidth> sum[kCount];
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      in[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
      sum[k] = load<kWidth>(to + at + static_cast<unsigned>(k) * stride);
    }
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      FASTGPU_UNROLL
      for (int i = 0; i < kWidth; ++i) {
        const Lane addend = scaled(static_cast<Lane>(to_lane(in[k].values[i])), scale);
        const Lane before = to_lane(sum[k].values[i]);
        sum[k].values[i] = Element<To>::of(Sum::of(before, addend));
      }
      store(to + at + static_cast<unsigned>(k) * stride, sum[k]);
    }
  }
};

}  // namespace fastgpu::comm::gpu
