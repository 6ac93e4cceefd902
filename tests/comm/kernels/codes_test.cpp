// The kernels of codes: the same bits on every CPU, and the numbers that a float64 reference has.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "comm/kernels/kernels.hpp"
#include "support/kernel_levels.hpp"

namespace fastgpu::comm {
namespace {

using test::Misaligned;
using Bytes = std::vector<std::byte>;
using Numbers = std::vector<float>;

constexpr std::size_t kBlockCounts[] = {0,   1,   2,   7,   8,   15,  16,  17,  255,  256,
                                        257, 300, 511, 512, 513, 519, 520, 768, 1023, 1301};
constexpr std::uint64_t kSeed = 0x0123456789abcdef;

/// A code, and the memory of one of `count` numbers.
struct CodeOf {
  const char* name;
  Kernels::Code Kernels::*code;
  std::size_t block;
  std::size_t bits;

  std::size_t bytes(std::size_t count) const {
    return 4 * blocks_of(count, block) + (count * bits + 7) / 8;
  }
};
constexpr CodeOf kCodes[] = {{"int8", &Kernels::int8, kInt8Block, 8},
                             {"signs", &Kernels::signs, kSignBlock, 1}};

Numbers uneven_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = normal(random) * std::exp2(static_cast<float>(i / 256 % 40) - 20.0F);
  return numbers;
}

Bytes block_code(const Kernels& with, const CodeOf& code, std::span<const std::byte> values,
                 std::uint64_t seed = kSeed) {
  const std::size_t count = values.size() / sizeof(float);
  Misaligned source(sizeof(float), count);
  std::ranges::copy(values, source.data());
  Bytes bytes(code.bytes(count) + 1);  // One byte in, so that nothing is aligned.
  (with.*code.code)
      .encode(bytes.data() + 1, reinterpret_cast<const float*>(source.data()), count, seed);
  return {bytes.begin() + 1, bytes.end()};
}

Numbers sum_with(const Kernels& with, const CodeOf& code, const Bytes& bytes, Numbers to,
                 float factor) {
  const std::byte* const numbers = bytes.data() + 4 * blocks_of(to.size(), code.block);
  (with.*code.code).add(to.data(), bytes.data(), numbers, to.size(), factor);
  return to;
}

Bytes bytes_of(const Numbers& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// The bits of numbers, so that NaN equals NaN.
std::vector<std::uint32_t> bits_of(const Numbers& numbers) {
  std::vector<std::uint32_t> bits(numbers.size());
  if (!numbers.empty()) std::memcpy(bits.data(), numbers.data(), 4 * numbers.size());
  return bits;
}

TEST_SUITE_BEGIN("comm/kernels/codes");

TEST_CASE("every level encodes and decodes to the bits of the portable one") {
  const Kernels& reference = kernels_of(SimdLevel::portable);
  for (const auto& level : test::levels())
    for (const CodeOf& code : kCodes)
      for (const std::size_t count : kBlockCounts) {
        Misaligned bits(4, count);
        test::fill_with_random_bits(bits.span(), ElementType::float32,
                                    static_cast<std::uint32_t>(count));
        for (const Bytes& values : {bits.values(), bytes_of(uneven_numbers(count, 3))}) {
          CAPTURE(level.name);
          CAPTURE(code.name);
          CAPTURE(count);
          const Bytes expected = block_code(reference, code, values);
          CHECK(block_code(level.kernels, code, values) == expected);
          const Numbers to = uneven_numbers(count, 5);
          for (const float factor : {1.0F, -1.0F})
            CHECK(bits_of(sum_with(level.kernels, code, expected, to, factor)) ==
                  bits_of(sum_with(reference, code, expected, to, factor)));
        }
      }
}

TEST_CASE("any bytes can be decoded, to the same bits at every level") {
  std::mt19937 random(11);
  for (const auto& level : test::levels())
    for (const CodeOf& code : kCodes)
      for (const std::size_t count : kBlockCounts) {
        Bytes bytes(code.bytes(count));
        for (std::byte& byte : bytes)
          byte = static_cast<std::byte>(random() & 0xffU);
        CHECK(
            bits_of(sum_with(level.kernels, code, bytes, Numbers(count, 1), 1)) ==
            bits_of(sum_with(kernels_of(SimdLevel::portable), code, bytes, Numbers(count, 1), 1)));
      }
}

TEST_CASE("int8 sends the largest number of a block and its negative as 127 and -127") {
  std::mt19937 random(13);
  std::uniform_real_distribution<float> sizes(0.5F, 1.0F);
  for (const auto& level : test::levels())
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      Numbers values(kInt8Block, sizes(random));
      for (std::size_t i = 0; i < kInt8Block; i += 2)
        values[i] = -values[i];
      const Bytes code = block_code(level.kernels, kCodes[0], bytes_of(values), seed);
      for (std::size_t i = 0; i < kInt8Block; ++i)
        REQUIRE(std::abs(static_cast<std::int8_t>(code[sizeof(float) + i])) >= 126);
      for (std::size_t i = 0; i < kInt8Block; ++i)
        REQUIRE(static_cast<std::int8_t>(code[sizeof(float) + i]) != -128);
    }
}

TEST_CASE("int8 is off by less than a step, and right on average") {
  constexpr std::size_t kTries = 400;
  const Numbers values = uneven_numbers(700, 7);
  const auto& code = kernels().int8;
  std::vector<double> sums(values.size());
  std::vector<double> steps(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i / kInt8Block * kInt8Block;
    const std::size_t end = std::min(begin + kInt8Block, values.size());
    for (std::size_t at = begin; at < end; ++at)
      steps[i] = std::max(steps[i], std::abs(static_cast<double>(values[at])) / 127);
  }
  for (std::size_t seed = 0; seed < kTries; ++seed) {
    Bytes bytes(kCodes[0].bytes(values.size()));
    code.encode(bytes.data(), values.data(), values.size(), seed * 0x9e3779b97f4a7c15);
    const Numbers decoded = sum_with(kernels(), kCodes[0], bytes, Numbers(values.size()), 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = static_cast<double>(decoded[i]) - static_cast<double>(values[i]);
      REQUIRE(std::abs(error) <= steps[i] * 1.0001);
      sums[i] += error / steps[i];
    }
  }
  for (const double sum : sums)  // The deviation of one error is at most half a step.
    CHECK(std::abs(sum / kTries) < 5 * 0.5 / std::sqrt(static_cast<double>(kTries)));
}

TEST_CASE("a sign is decoded to the mean magnitude of its block") {
  const Numbers values = uneven_numbers(1301, 9);
  const Numbers decoded =
      sum_with(kernels(), kCodes[1], block_code(kernels(), kCodes[1], bytes_of(values)),
               Numbers(values.size()), 1);
  for (std::size_t begin = 0; begin < values.size(); begin += kSignBlock) {
    const std::size_t end = std::min(begin + kSignBlock, values.size());
    double mean = 0;
    for (std::size_t i = begin; i < end; ++i)
      mean += std::abs(static_cast<double>(values[i])) / static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      CHECK(static_cast<double>(std::abs(decoded[i])) == doctest::Approx(mean).epsilon(1e-5));
      CHECK(std::signbit(decoded[i]) == std::signbit(values[i]));
    }
  }
}

TEST_CASE("equal numbers, zeros and very small ones are exact or 0") {
  for (const CodeOf& code : kCodes)
    for (const std::size_t count : {1, 300, 512, 1301})
      for (const float value : {0.0F, 1.0F, 2.0F, -3.0F, 1e-40F}) {
        const Numbers values(count, value);
        const Numbers decoded = sum_with(
            kernels(), code, block_code(kernels(), code, bytes_of(values)), Numbers(count), 1);
        const double tolerance = std::abs(static_cast<double>(value)) * 1e-6 + 1e-30;
        for (const float each : decoded)
          CHECK(std::abs(static_cast<double>(each) - static_cast<double>(value)) <= tolerance);
      }
}

TEST_CASE("a block with NaN or infinity is NaN, and no other block") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const CodeOf& code : kCodes)
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      Numbers values(3 * code.block + 5, 1);
      values[code.block + 3] = bad;
      const Numbers decoded =
          sum_with(kernels(), code, block_code(kernels(), code, bytes_of(values)),
                   Numbers(values.size()), 1);
      for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(std::isnan(decoded[i]) == (i / code.block == 1));
    }
}

TEST_CASE("numbers of a magnitude are selected in order, and too many are noticed") {
  for (const auto& level : test::levels())
    for (const std::size_t count : kBlockCounts) {
      const Numbers values = uneven_numbers(count, 13);
      for (const float least : {0.0F, 1e-4F, 1.0F, 1e9F}) {
        const auto limit = std::bit_cast<std::int32_t>(least);
        constexpr std::uint32_t kFirst = 70'000;
        std::vector<std::uint32_t> places;
        for (std::size_t i = 0; i < count; ++i)
          if (std::abs(values[i]) >= least)
            places.push_back(kFirst + static_cast<std::uint32_t>(i));
        std::vector<std::uint32_t> found(count);
        const auto select = [&](std::size_t room) {
          return level.kernels.select(found.data(), room, values.data(), count, kFirst, limit);
        };
        for (const std::size_t room : {count, places.size()}) {
          const std::size_t number = select(room);
          REQUIRE(number == places.size());
          CHECK(std::equal(places.begin(), places.end(), found.begin()));
        }
        if (!places.empty()) CHECK(select(places.size() - 1) == places.size());
      }
    }
}

TEST_CASE("a code of signs with feedback leaves what the code does not carry, to the bit") {
  const Kernels& reference = kernels_of(SimdLevel::portable);
  for (const auto& level : test::levels())
    for (const std::size_t count : kBlockCounts) {
      Numbers values = uneven_numbers(count, 17);
      if (count > 600) values[600] = std::numeric_limits<float>::infinity();
      const Bytes code = block_code(reference, kCodes[1], bytes_of(values));
      Numbers rest = sum_with(reference, kCodes[1], code, values, -1);
      reference.drop_non_finite(rest.data(), rest.size());
      Bytes fused(code.size());
      level.kernels.signs.encode_with_feedback(fused.data(), values.data(), count, 0);
      CHECK(fused == code);
      CHECK(bits_of(values) == bits_of(rest));
    }
}

TEST_CASE("numbers that are not finite are dropped") {
  Numbers values = {1, std::numeric_limits<float>::quiet_NaN(), -2,
                    -std::numeric_limits<float>::infinity(), 1e-42F};
  for (const auto& level : test::levels()) {
    Numbers cleaned = values;
    level.kernels.drop_non_finite(cleaned.data(), cleaned.size());
    CHECK(cleaned == Numbers{1, 0, -2, 0, 1e-42F});
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
