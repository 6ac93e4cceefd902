// The types of elements, and the reductions of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "comm/common/float16.hpp"

namespace fastgpu::comm {

/// Element types. Ranks send these numbers to each other: new ones are added at the end.
enum class ElementType : std::uint8_t {
  float32,
  float64,
  int32,
  int64,
  float16,   ///< IEEE 754 binary16.
  bfloat16,  ///< The upper half of a float32.
  int8,
  uint8
};
constexpr std::size_t kElementTypes = 8;

/// The reductions. On integers, sum and product wrap and average rounds towards zero. On 16-bit
/// floating-point numbers, each operation is carried out in float32 and rounded to nearest, ties to
/// even; each rank's are divided before they are added to an average, so that no sum overflows. A
/// floating-point result is NaN where one of the operands is, always with the same bits, and -0 is
/// less than 0: so a op b and b op a are the same to the last bit.
enum class ReduceOp : std::uint8_t { sum, average, min, max, product };
constexpr std::size_t kReduceOps = 5;

struct Reduction {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
};

/// Returns the bytes of an element.
constexpr std::size_t size_of(ElementType type) noexcept {
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

std::string_view name_of(ElementType type) noexcept;
std::string_view name_of(ReduceOp op) noexcept;

/// The ElementType of T; no other T compiles.
template <class T>
constexpr ElementType kElementType = T::unsupported;
template <>
inline constexpr ElementType kElementType<float> = ElementType::float32;
template <>
inline constexpr ElementType kElementType<double> = ElementType::float64;
template <>
inline constexpr ElementType kElementType<std::int32_t> = ElementType::int32;
template <>
inline constexpr ElementType kElementType<std::int64_t> = ElementType::int64;
template <>
inline constexpr ElementType kElementType<Float16> = ElementType::float16;
template <>
inline constexpr ElementType kElementType<BFloat16> = ElementType::bfloat16;
template <>
inline constexpr ElementType kElementType<std::int8_t> = ElementType::int8;
template <>
inline constexpr ElementType kElementType<std::uint8_t> = ElementType::uint8;

}  // namespace fastgpu::comm
