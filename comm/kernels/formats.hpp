// The properties of element types that the kernels need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "comm/common/float16.hpp"

namespace fastgpu::comm::loops {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsHalf<T>;

/// The type in which elements of type T are calculated.
template <class T>
using LaneOf = std::conditional_t<kIsHalf<T>, float, T>;

template <std::size_t kSize>
struct Integers;
template <>
struct Integers<1> {
  using Signed = std::int8_t;
  using Unsigned = std::uint8_t;
};
template <>
struct Integers<2> {
  using Signed = std::int16_t;
  using Unsigned = std::uint16_t;
};
template <>
struct Integers<4> {
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
};
template <>
struct Integers<8> {
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
};
template <class T>
using SignedOf = typename Integers<sizeof(T)>::Signed;
template <class T>
using UnsignedOf = typename Integers<sizeof(T)>::Unsigned;

/// The bits of a T as integers. A positive T is not finite from kInfinity on. A positive LaneOf<T>
/// becomes one that is not finite from kTooLarge on.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr std::int32_t kInfinity = 0x7f800000;
  static constexpr std::int32_t kTooLarge = 0x7f800000;
  static constexpr std::uint32_t kQuietNan = 0x7fc00000;
};
template <>
struct Format<double> {
  static constexpr std::int64_t kInfinity = 0x7ff0000000000000;
  static constexpr std::int64_t kTooLarge = 0x7ff0000000000000;
  static constexpr std::uint64_t kQuietNan = 0x7ff8000000000000;
};
template <>
struct Format<Float16> {
  static constexpr std::int16_t kInfinity = 0x7c00;
  /// 65520: the least float that is rounded to infinity.
  static constexpr std::int32_t kTooLarge = 0x477ff000;
};
template <>
struct Format<BFloat16> {
  static constexpr std::int16_t kInfinity = 0x7f80;
  static constexpr std::int32_t kTooLarge = 0x7f7f8000;
};

}  // namespace fastgpu::comm::loops
