// The step of a walk over an array that finds NaN and infinity.
#pragma once

#include <cstdint>
#include <type_traits>

#include "comm/gpu/host_device.hpp"
#include "comm/gpu/numbers.hpp"
#include "comm/gpu/walk.hpp"

namespace fastgpu::comm::gpu {

/// A step that looks for exponents of all ones, in two halves at once if possible. Added to its
/// lowest bit, such an exponent carries into the sign.
template <class T>
struct FindStep {
  using Bits = UnsignedOf<T>;
  using Word = std::conditional_t<sizeof(T) == 2, std::uint32_t, Bits>;
  static constexpr auto kExponent = static_cast<Bits>(Format<T>::kInfinity);
  static constexpr auto kLowest = static_cast<Bits>(kExponent & (~kExponent + 1U));
  static constexpr auto kSign = static_cast<Bits>(kExponent + kLowest);

  const T* data;
  Word carries = 0;

  /// Returns `bits` in each T of a word.
  FASTGPU_HOST_DEVICE static constexpr Word everywhere(Bits bits) noexcept {
    if constexpr (sizeof(Word) > sizeof(T))
      return (Word{bits} << 16U) | bits;
    else
      return bits;
  }

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    using Loaded = std::conditional_t<kWidth == 1, Bits, Word>;
    constexpr int kWords = kWidth * static_cast<int>(sizeof(T)) / static_cast<int>(sizeof(Loaded));
    Vector<Loaded, kWords> in[kCount];
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k)
      in[k] = load<kWords>(
          reinterpret_cast<const Loaded*>(data + at + static_cast<unsigned>(k) * stride));
    FASTGPU_UNROLL
    for (int k = 0; k < kCount; ++k) {
      FASTGPU_UNROLL
      for (int i = 0; i < kWords; ++i)
        carries |= (in[k].values[i] & everywhere(kExponent)) + everywhere(kLowest);
    }
  }

  FASTGPU_HOST_DEVICE bool met_non_finite() const noexcept {
    return (carries & everywhere(kSign)) != 0;
  }
  FASTGPU_HOST_DEVICE bool is_non_finite(std::uint64_t at) const noexcept {
    return (bits_of(data[at]) & kExponent) == kExponent;
  }
};

}  // namespace fastgpu::comm::gpu
