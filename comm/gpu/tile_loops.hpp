// What one thread of a warp does with its share of a tile. Nothing here needs a GPU: a test plays
// all threads of a warp in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "comm/gpu/host_device.hpp"
#include "comm/gpu/numbers.hpp"

namespace fastgpu::comm::gpu {

/// Which thread of how many that share one tile.
struct Share {
  unsigned lane = 0;
  unsigned lanes = 1;
};

/// What one instruction loads or stores.
constexpr int kVectorBytes = 16;
/// Vectors that a thread has on their way at once.
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

/// Elements before `pointer` is aligned for vectors of `width`.
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

/// The same with the widest vectors, at most kWidth, that both arrays of the step can be aligned
/// for at once.
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

/// Copies the bits.
template <class T>
struct CopyStep {
  T* to;
  const T* from;

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    Vector<T, kWidth> vectors[kCount];
    for (int k = 0; k < kCount; ++k)
      vectors[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
    for (int k = 0; k < kCount; ++k)
      store(to + at + static_cast<unsigned>(k) * stride, vectors[k]);
  }
};

/// to = from * scale. Remembers the largest magnitude, so that one comparison at the end says
/// whether anything written is not finite.
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
    for (int k = 0; k < kCount; ++k)
      in[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
    for (int k = 0; k < kCount; ++k) {
      Vector<To, kWidth> out;
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

/// to = to + from * scale.
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
    for (int k = 0; k < kCount; ++k) {
      in[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
      sum[k] = load<kWidth>(to + at + static_cast<unsigned>(k) * stride);
    }
    for (int k = 0; k < kCount; ++k) {
      for (int i = 0; i < kWidth; ++i) {
        const Lane addend = scaled(static_cast<Lane>(to_lane(in[k].values[i])), scale);
        const Lane before = to_lane(sum[k].values[i]);
        sum[k].values[i] = Element<To>::of(Sum::of(before, addend));
      }
      store(to + at + static_cast<unsigned>(k) * stride, sum[k]);
    }
  }
};

/// into = into op from, in the type that elements are calculated in.
template <class T, class Op>
struct ReduceStep {
  T* into;
  const T* from;

  template <int kWidth, int kCount>
  FASTGPU_HOST_DEVICE void go(std::uint64_t at, std::uint64_t stride) noexcept {
    Vector<T, kWidth> a[kCount];
    Vector<T, kWidth> b[kCount];
    for (int k = 0; k < kCount; ++k) {
      a[k] = load<kWidth>(into + at + static_cast<unsigned>(k) * stride);
      b[k] = load<kWidth>(from + at + static_cast<unsigned>(k) * stride);
    }
    for (int k = 0; k < kCount; ++k) {
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
    for (int k = 0; k < kCount; ++k) {
      T* const place = data + at + static_cast<unsigned>(k) * stride;
      Vector<T, kWidth> vector = load<kWidth>(place);
      for (int i = 0; i < kWidth; ++i)
        vector.values[i] = Element<T>::of(divided(to_lane(vector.values[i]), divisor));
      store(place, vector);
    }
  }
};

/// Looks for exponents of all ones, in two halves at once where it can: added to its lowest bit,
/// such an exponent carries into the sign.
template <class T>
struct FindStep {
  using Bits = UnsignedOf<T>;
  using Word = std::conditional_t<sizeof(T) == 2, std::uint32_t, Bits>;
  static constexpr auto kExponent = static_cast<Bits>(Format<T>::kInfinity);
  static constexpr auto kLowest = static_cast<Bits>(kExponent & (~kExponent + 1U));
  static constexpr auto kSign = static_cast<Bits>(kExponent + kLowest);

  const T* data;
  Word carries = 0;

  /// `bits` in each T of a word.
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
    for (int k = 0; k < kCount; ++k)
      in[k] = load<kWords>(
          reinterpret_cast<const Loaded*>(data + at + static_cast<unsigned>(k) * stride));
    for (int k = 0; k < kCount; ++k)
      for (int i = 0; i < kWords; ++i)
        carries |= (in[k].values[i] & everywhere(kExponent)) + everywhere(kLowest);
  }

  FASTGPU_HOST_DEVICE bool met_non_finite() const noexcept {
    return (carries & everywhere(kSign)) != 0;
  }
  FASTGPU_HOST_DEVICE bool is_non_finite(std::uint64_t at) const noexcept {
    return (bits_of(data[at]) & kExponent) == kExponent;
  }
};

}  // namespace fastgpu::comm::gpu
