#include "comm/kernels/reduce.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/kernel_levels.hpp"

namespace fastgpu::comm {
namespace {

using enum ReduceOp;

template <class T>
T reduced(T into, T from, ReduceOp op) {
  reduce_into(std::as_writable_bytes(std::span(&into, 1)), std::as_bytes(std::span(&from, 1)),
              {kElementType<T>, op});
  return into;
}

template <class T>
T finished(T value, int ranks) {
  finish(std::as_writable_bytes(std::span(&value, 1)), {kElementType<T>, average}, ranks);
  return value;
}

float half_sum(float a, float b) {
  return to_float(reduced(to_float16(a), to_float16(b), sum));
}

TEST_SUITE_BEGIN("comm/reduce");

TEST_CASE("every operation does what its name says") {
  CHECK(reduced(3.0F, 4.0F, sum) == 7);
  CHECK(reduced(3.0, 4.0, average) == 7);
  CHECK(reduced<std::int32_t>(3, -4, min) == -4);
  CHECK(reduced<std::uint8_t>(3, 252, max) == 252);
  CHECK(reduced<std::int8_t>(3, -4, max) == 3);
  CHECK(reduced<std::int64_t>(-3, std::int64_t{1} << 40U, product) == -(std::int64_t{3} << 40U));
  CHECK(to_float(reduced(to_bfloat16(3), to_bfloat16(-4), product)) == -12);
}

TEST_CASE("integer sums and products wrap") {
  CHECK(reduced<std::int8_t>(127, 1, sum) == -128);
  CHECK(reduced<std::uint8_t>(200, 100, sum) == 44);
  CHECK(reduced<std::uint8_t>(16, 17, product) == 16);
  CHECK(reduced(std::numeric_limits<std::int32_t>::max(), 2, product) == -2);
  CHECK(reduced(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, sum) ==
        std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("integer averages round towards zero, for more ranks than the type can count too") {
  CHECK(finished<std::int32_t>(-7, 2) == -3);
  CHECK(finished<std::uint8_t>(255, 2) == 127);
  CHECK(finished<std::int8_t>(-128, 128) == -1);
  CHECK(finished<std::uint8_t>(255, 300) == 0);
}

TEST_CASE("floating-point averages are rounded once") {
  CHECK(finished(1.0F, 3) == 1.0F / 3);
  CHECK(finished(1.0, 3) == 1.0 / 3);
  CHECK(finished(to_float16(1), 3).bits == to_float16(1.0F / 3).bits);
}

TEST_CASE("a sum of float16 is rounded to nearest, to even in the middle, and may overflow") {
  CHECK(half_sum(2048, 1) == 2048);
  CHECK(half_sum(2050, 1) == 2052);
  CHECK(half_sum(0x1p-24F, 0x1p-24F) == 0x1p-23F);
  CHECK(half_sum(65504, 15) == 65504);
  CHECK(std::isinf(half_sum(65504, 16)));
}

TEST_CASE("NaN wins in every operation, with one bit pattern") {
  const float nan = std::bit_cast<float>(0xffc12345U);
  for (const ReduceOp op : {sum, min, max, product}) {
    CHECK(std::bit_cast<std::uint32_t>(reduced(nan, 1.0F, op)) == 0x7fc00000U);
    CHECK(std::bit_cast<std::uint32_t>(reduced(1.0F, nan, op)) == 0x7fc00000U);
    CHECK(std::isnan(reduced(0.0, std::numeric_limits<double>::quiet_NaN(), op)));
    CHECK(reduced(Float16{0xfe01}, to_float16(1), op).bits == 0x7e00);
    CHECK(reduced(to_bfloat16(1), BFloat16{0xffc1}, op).bits == 0x7fc0);
  }
}

TEST_CASE("-0 is less than 0") {
  CHECK(std::signbit(reduced(0.0F, -0.0F, min)));
  CHECK(std::signbit(reduced(-0.0F, 0.0F, min)));
  CHECK_FALSE(std::signbit(reduced(0.0F, -0.0F, max)));
  CHECK_FALSE(std::signbit(reduced(-0.0F, 0.0F, max)));
}

TEST_CASE("many sources in one pass give the bits that they give one after the other") {
  for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::int8}) {
    constexpr std::size_t kBytes = 20'000;  // Several blocks, and the start of one.
    std::vector<std::vector<std::byte>> sources(3, std::vector<std::byte>(kBytes));
    std::vector<const std::byte*> pointers;
    for (std::uint32_t i = 0; i < sources.size(); ++i) {
      test::fill_with_random_bits(sources[i], type, i);
      pointers.push_back(sources[i].data());
    }
    std::vector<std::byte> at_once(kBytes);
    std::vector<std::byte> in_turn(kBytes);
    reduce_into(at_once, pointers, {type, sum});
    for (const auto& source : sources)
      reduce_into(in_turn, source, {type, sum});
    CHECK(at_once == in_turn);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
