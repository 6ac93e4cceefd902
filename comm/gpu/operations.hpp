// The operations of reductions on two elements, with the bits of the CPU's kernels.
#pragma once

#include "comm/gpu/host_device.hpp"
#include "comm/gpu/numbers.hpp"

namespace fastgpu::comm::gpu {

struct Sum {
  template <class T>
  FASTGPU_HOST_DEVICE static constexpr T of(T a, T b) noexcept {
    if constexpr (kIsFloating<T>)
      return one_nan(a + b);
    else
      return from_bits<T>(static_cast<UnsignedOf<T>>(bits_of(a) + bits_of(b)));
  }
};

struct Product {
  template <class T>
  FASTGPU_HOST_DEVICE static constexpr T of(T a, T b) noexcept {
    if constexpr (kIsFloating<T>)
      return one_nan(a * b);
    else
      return from_bits<T>(static_cast<UnsignedOf<T>>(bits_of(a) * bits_of(b)));
  }
};

/// The smaller number; of two zeros that differ in sign, the negative one.
struct Least {
  template <class T>
  FASTGPU_HOST_DEVICE static constexpr T of(T a, T b) noexcept {
    if constexpr (kIsFloating<T>)
      return one_nan(from_bits<T>(bits_of(a < b ? a : b) | bits_of(b < a ? b : a)));
    else
      return a < b ? a : b;
  }
};

/// The larger number; of two zeros that differ in sign, the positive one.
struct Greatest {
  template <class T>
  FASTGPU_HOST_DEVICE static constexpr T of(T a, T b) noexcept {
    if constexpr (kIsFloating<T>) {
      if (a != a || b != b) return from_bits<T>(Format<T>::kQuietNan);
      return from_bits<T>(bits_of(a > b ? a : b) & bits_of(b > a ? b : a));
    } else {
      return a > b ? a : b;
    }
  }
};

}  // namespace fastgpu::comm::gpu
