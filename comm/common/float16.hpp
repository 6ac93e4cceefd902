// The two 16-bit floating-point types, and the conversions to and from them.
#pragma once

#include <bit>
#include <cstdint>

namespace fastgpu::comm {

/// IEEE 754 binary16: 11 significant bits, at most 65504.
struct Float16 {
  std::uint16_t bits = 0;
};

/// The upper half of a float: 8 significant bits, a float's range.
struct BFloat16 {
  std::uint16_t bits = 0;
};

/// Converts exactly. A signalling NaN becomes quiet; sign and payload of a NaN stay.
constexpr float to_float(Float16 half) noexcept {
  const std::uint32_t sign = (half.bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (half.bits & 0x7fffU) << 13U;
  const std::uint32_t normal = magnitude + 0x38000000U;  // The bias changes from 15 to 127.
  // Reads the fraction as that of a normal number, then takes away the one that this adds.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + 0x38800000U) - 0x1p-14F);
  const std::uint32_t quiet = magnitude > 0x0f800000U ? 0x00400000U : 0U;
  const std::uint32_t special = (magnitude + 0x70000000U) | quiet;  // Infinity and NaN.
  const std::uint32_t finite = magnitude < 0x00800000U ? subnormal : normal;
  return std::bit_cast<float>(sign | (magnitude >= 0x0f800000U ? special : finite));
}

/// Converts exactly; a signalling NaN stays one.
constexpr float to_float(BFloat16 half) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half.bits) << 16U);
}

/// Rounds to nearest, ties to even; a value that rounds beyond 65504 becomes infinite. A NaN
/// becomes quiet and keeps its sign and the upper bits of its payload.
constexpr Float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + odd) >> 13U;
  // Adding 0.5 lets the addition itself round to the 2^-24 that subnormal halves are multiples of.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13U) & 0x3ffU);
  const std::uint32_t special = magnitude > 0x7f800000U ? nan : 0x7c00U;
  const std::uint32_t half = magnitude >= 0x47800000U ? special : finite;
  return {static_cast<std::uint16_t>(((bits >> 16U) & 0x8000U) | half)};
}

/// Rounds to nearest, ties to even. A NaN becomes quiet and keeps its sign and the upper bits of
/// its payload.
constexpr BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t nan = (bits >> 16U) | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded)};
}

/// Rounds as to_bfloat16 does, but for a finite value that would become infinite: it becomes the
/// largest finite one.
constexpr BFloat16 to_bfloat16_within_range(float value) noexcept {
  const auto magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
  const BFloat16 half = to_bfloat16(value);
  const bool is_beyond = magnitude < 0x7f800000U && (half.bits & 0x7fffU) == 0x7f80U;
  return {static_cast<std::uint16_t>(half.bits - (is_beyond ? 1 : 0))};
}

}  // namespace fastgpu::comm
