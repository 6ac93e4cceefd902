#include "comm/common/float16.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kHalves = 0x10000;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What the bits of a half mean, from the definition: sign, 5 bits of exponent, `digits` of
/// fraction.
double meaning(std::uint32_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((half >> 10U) & 31U);
  const double fraction = half & 0x3ffU;
  if (exponent == 31) return sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

bool is_nan(std::uint32_t half) {
  return (half & 0x7fffU) > 0x7c00U;
}

Float16 half(std::uint32_t bits) {
  return {static_cast<std::uint16_t>(bits)};
}

TEST_SUITE_BEGIN("comm/float16");

TEST_CASE("every float16 means what its definition says") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < kHalves; ++bits) {
    const float value = to_float(half(bits));
    const bool right = is_nan(bits) ? std::isnan(value)
                                    : static_cast<double>(value) == meaning(bits) &&
                                          std::signbit(value) == ((bits & 0x8000U) != 0);
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE(
    "every float16 and bfloat16 survives the way to float32 and back, but for a NaN's quiet bit") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < kHalves; ++bits) {
    const std::uint32_t quiet16 = is_nan(bits) ? 0x200U : 0U;
    const std::uint32_t quiet_b = (bits & 0x7fffU) > 0x7f80U ? 0x40U : 0U;
    const auto same = static_cast<std::uint16_t>(bits);
    wrong += to_float16(to_float(half(bits))).bits == (bits | quiet16) ? 0 : 1;
    wrong += to_bfloat16(to_float(BFloat16{same})).bits == (bits | quiet_b) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("between two neighbouring float16 the nearer one wins, and the even one in the middle") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = to_float(half(bits));
    const float high = to_float(half(bits + 1));
    const float middle = (low + high) / 2;  // Exact: float32 has 13 bits to spare.
    wrong += to_float16(middle).bits == bits + bits % 2 ? 0 : 1;
    wrong += to_float16(std::nextafter(middle, low)).bits == bits ? 0 : 1;
    wrong += to_float16(std::nextafter(middle, high)).bits == bits + 1 ? 0 : 1;
    wrong += to_float16(-std::nextafter(middle, high)).bits == (0x8000U | (bits + 1)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what rounds beyond the largest float16 is infinite") {
  CHECK(to_float16(65519.996F).bits == 0x7bff);
  CHECK(to_float16(65520.0F).bits == 0x7c00);
  CHECK(to_float16(-1e30F).bits == 0xfc00);
  CHECK(to_float16(kInfinity).bits == 0x7c00);
}

TEST_CASE("what is nearer to 0 than to the least float16 is a zero that keeps its sign") {
  CHECK(to_float16(0x1p-25F).bits == 0);
  CHECK(to_float16(std::nextafter(0x1p-25F, 1.0F)).bits == 1);
  CHECK(to_float16(-0x1p-149F).bits == 0x8000);
}

TEST_CASE("a bfloat16 is the nearest upper half of a float32, the even one in the middle") {
  CHECK(to_bfloat16(1.0F).bits == 0x3f80);
  CHECK(to_bfloat16(std::bit_cast<float>(0x3f808000U)).bits == 0x3f80);
  CHECK(to_bfloat16(std::bit_cast<float>(0x3f808001U)).bits == 0x3f81);
  CHECK(to_bfloat16(std::bit_cast<float>(0x3f818000U)).bits == 0x3f82);
  CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(to_bfloat16_within_range(std::numeric_limits<float>::max()).bits == 0x7f7f);
  CHECK(to_bfloat16_within_range(-std::numeric_limits<float>::max()).bits == 0xff7f);
  CHECK(to_bfloat16_within_range(std::numeric_limits<float>::infinity()).bits == 0x7f80);
  CHECK(to_bfloat16_within_range(std::bit_cast<float>(0x3f808001U)).bits == 0x3f81);
  CHECK(to_bfloat16(std::bit_cast<float>(0x00008001U)).bits == 1);
  CHECK(to_bfloat16(std::bit_cast<float>(0xff800001U)).bits == 0xffc0);
}

TEST_CASE("a NaN stays one, quiet, with its sign and the upper bits of its payload") {
  CHECK(to_float16(std::bit_cast<float>(0x7f800001U)).bits == 0x7e00);
  CHECK(to_float16(std::bit_cast<float>(0xffc02000U)).bits == 0xfe01);
  CHECK(std::bit_cast<std::uint32_t>(to_float(Float16{0xfc01})) == 0xffc02000U);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
