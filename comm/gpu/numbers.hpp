// Arithmetic on one element, with the bits of the CPU's kernels: same roundings, same NaNs.
#pragma once

#include <bit>
#include <cstdint>

#include "comm/common/float16.hpp"
#include "comm/gpu/host_device.hpp"
#include "comm/kernels/formats.hpp"
#include "comm/kernels/reduce.hpp"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace fastgpu::comm::gpu {

using loops::Format;
using loops::kIsFloating;
using loops::LaneOf;
using loops::SignedOf;
using loops::UnsignedOf;

template <class T>
FASTGPU_HOST_DEVICE constexpr T to_lane(T value) noexcept {
  return value;
}

FASTGPU_HOST_DEVICE constexpr float to_lane(BFloat16 half) noexcept {
  return to_float(half);
}

/// Converts by hardware, except for NaNs, of which CPUs make something else.
FASTGPU_HOST_DEVICE inline float to_lane(Float16 half) noexcept {
#ifdef __CUDA_ARCH__
  if ((half.bits & 0x7fffU) <= 0x7c00U) return __half2float(__ushort_as_half(half.bits));
#endif
  return to_float(half);
}

template <class T>
struct Element {
  FASTGPU_HOST_DEVICE static constexpr T of(T lane) noexcept { return lane; }
};

template <>
struct Element<Float16> {
  FASTGPU_HOST_DEVICE static Float16 of(float lane) noexcept {
#ifdef __CUDA_ARCH__
    if (lane == lane) return {__half_as_ushort(__float2half_rn(lane))};
#endif
    return to_float16(lane);
  }
};

template <>
struct Element<BFloat16> {
  FASTGPU_HOST_DEVICE static BFloat16 of(float lane) noexcept {
#ifdef __CUDA_ARCH__
    if (lane == lane) return {__bfloat16_as_ushort(__float2bfloat16_rn(lane))};
#endif
    return to_bfloat16(lane);
  }
};

template <class T>
FASTGPU_HOST_DEVICE constexpr UnsignedOf<T> bits_of(T value) noexcept {
  return std::bit_cast<UnsignedOf<T>>(value);
}

template <class T>
FASTGPU_HOST_DEVICE constexpr T from_bits(UnsignedOf<T> bits) noexcept {
  return std::bit_cast<T>(bits);
}

/// Returns the bits without the sign, which order as the numbers do, infinity and NaN last.
template <class T>
FASTGPU_HOST_DEVICE constexpr SignedOf<T> magnitude_of(T value) noexcept {
  constexpr auto kAll = static_cast<UnsignedOf<T>>(-1);
  return static_cast<SignedOf<T>>(bits_of(value) & static_cast<UnsignedOf<T>>(kAll >> 1U));
}

/// Replaces any NaN by the same one, so that results do not depend on the order of operands.
template <class T>
FASTGPU_HOST_DEVICE constexpr T one_nan(T value) noexcept {
  return value == value ? value : from_bits<T>(Format<T>::kQuietNan);
}

/// Returns the NaN that arithmetic on a CPU makes of the NaN `value`: the same one, quiet.
template <class T>
FASTGPU_HOST_DEVICE constexpr T quieted(T value) noexcept {
  return from_bits<T>(bits_of(value) | Format<T>::kQuietNan);
}

template <class T>
FASTGPU_HOST_DEVICE constexpr T scaled(T value, T scale) noexcept {
  return value == value ? value * scale : quieted(value);
}

/// Divides floating-point numbers as lanes; rounds integers towards zero.
template <class T>
FASTGPU_HOST_DEVICE constexpr T divided(T value, int divisor) noexcept {
  if constexpr (kIsFloating<T>)
    return value == value ? value / static_cast<T>(divisor) : quieted(value);
  else
    return static_cast<T>(value / std::int64_t{divisor});
}

}  // namespace fastgpu::comm::gpu
