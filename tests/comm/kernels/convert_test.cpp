#include "comm/kernels/convert.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "support/failure.hpp"
#include "support/kernel_levels.hpp"

namespace fastgpu::comm {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kConvertInfinity = std::numeric_limits<float>::infinity();
/// Around the ends of vectors and of the blocks that are searched at once.
const std::vector<std::size_t> kLengths{1, 7, 8, 9, 31, 33, 100, 4095, 4096, 4097, 9000};

template <class T>
std::span<std::byte> bytes(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

TEST_SUITE_BEGIN("comm/convert");

TEST_CASE("the first NaN or infinity is found at every place") {
  for (const test::Level& level : test::levels()) {
    CAPTURE(level.name);
    for (const std::size_t length : kLengths) {
      for (const std::size_t place : {std::size_t{0}, length / 2, length - 1}) {
        for (const float bad : {kNan, -kNan, kConvertInfinity, -kConvertInfinity}) {
          std::vector<float> from(length, 1);
          from[place] = bad;
          from[length - 1] = bad;
          std::vector<Float16> to(length);
          CHECK(first_non_finite(bytes(from), ElementType::float32, level.kernels) == place);
          CHECK(convert_checked(bytes(to), bytes(from),
                                {ElementType::float32, ElementType::float16},
                                level.kernels) == place);
          CHECK(first_non_finite(bytes(to), ElementType::float16, level.kernels) == place);
        }
      }
    }
  }
}

TEST_CASE("what is written past the caches is the same, and so is what is found in it") {
  for (const test::Level& level : test::levels()) {
    CAPTURE(level.name);
    for (const std::size_t length : {std::size_t{100}, std::size_t{4096}, std::size_t{20001}}) {
      for (const double scale : {1.0, 0.25}) {
        std::vector<float> from(length);
        std::iota(from.begin(), from.end(), 1.0F);
        from[length - 2] = kNan;
        std::vector<float> expected(length);
        std::vector<float> to(length);
        Conversion conversion{ElementType::float32, ElementType::float32, scale};
        convert(bytes(expected), bytes(from), conversion, level.kernels);
        conversion.past_caches = true;
        convert(bytes(to), bytes(from), conversion, level.kernels);
        CHECK(std::memcmp(to.data(), expected.data(), length * sizeof(float)) == 0);
        std::ranges::fill(to, 0.0F);
        CHECK(convert_checked(bytes(to), bytes(from), conversion, level.kernels) == length - 2);
        CHECK(std::memcmp(to.data(), expected.data(), length * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("nothing is found where all is finite, however large") {
  for (const test::Level& level : test::levels()) {
    CAPTURE(level.name);
    for (const std::size_t length : kLengths) {
      std::vector<float> from(length, -65519);
      std::vector<Float16> to(length);
      CHECK(convert_checked(bytes(to), bytes(from), {ElementType::float32, ElementType::float16},
                            level.kernels) == std::nullopt);
      CHECK(first_non_finite(bytes(from), ElementType::float32, level.kernels) == std::nullopt);
    }
  }
}

TEST_CASE("a finite number that is too large for float16 is found, unless the scale saves it") {
  for (const test::Level& level : test::levels()) {
    std::vector<float> from{1, 2, 65520, 4};
    std::vector<Float16> to(from.size());
    Conversion conversion{ElementType::float32, ElementType::float16};
    CHECK(convert_checked(bytes(to), bytes(from), conversion, level.kernels) == 2U);
    conversion.scale = 0.5;
    CHECK(convert_checked(bytes(to), bytes(from), conversion, level.kernels) == std::nullopt);
    CHECK(to_float(to[2]) == 32768);
  }
}

TEST_CASE("what comes after the first find is converted as well") {
  for (const test::Level& level : test::levels()) {
    std::vector<float> from(10'000, 3);
    from[5] = kNan;
    std::vector<BFloat16> to(from.size());
    CHECK(convert_checked(bytes(to), bytes(from), {ElementType::float32, ElementType::bfloat16, 2},
                          level.kernels) == 5U);
    for (const std::size_t place : {4U, 6U, 4095U, 4096U, 9999U})
      CHECK(to_float(to[place]) == 6);
  }
}

TEST_CASE("float64 is scaled and checked in float64") {
  std::vector<double> from{1e300, 0.1, std::numeric_limits<double>::infinity()};
  std::vector<double> to(from.size());
  const Conversion conversion{ElementType::float64, ElementType::float64, 1.0 / 3};
  CHECK(convert_checked(bytes(to), bytes(from), conversion) == 2U);
  CHECK(to[0] == 1e300 * (1.0 / 3));
  CHECK(to[1] == 0.1 * (1.0 / 3));
}

TEST_CASE("halves are added to float32 with its precision") {
  for (const test::Level& level : test::levels()) {
    std::vector<Float16> from(100, to_float16(0x1p-10F));
    std::vector<float> to(100, 1024);
    convert_and_add(bytes(to), bytes(from), {ElementType::float16, ElementType::float32, 0.5},
                    level.kernels);
    CHECK(to == std::vector<float>(100, 1024 + 0x1p-11F));
  }
}

TEST_CASE("any type is copied bit for bit by a scale of 1") {
  for (const ElementType type : {ElementType::int8, ElementType::int64, ElementType::float32}) {
    std::vector<std::byte> from(64);
    test::fill_with_random_bits(from, type, 1);
    std::vector<std::byte> to(from.size());
    convert(to, from, {type, type});
    CHECK(to == from);
  }
  std::vector<std::int32_t> whole{1, 2};
  std::vector<std::int32_t> copied(2);
  CHECK(convert_checked(bytes(copied), bytes(whole), {ElementType::int32, ElementType::int32}) ==
        std::nullopt);
  CHECK(copied == whole);
}

TEST_CASE("a conversion that is not possible is refused by name") {
  CHECK_FALSE(is_possible({ElementType::int32, ElementType::float32}));
  CHECK_FALSE(is_possible({ElementType::int32, ElementType::int32, 0.5}));
  CHECK(is_possible({ElementType::int32, ElementType::int32}));
  CHECK(is_possible({ElementType::float32, ElementType::bfloat16, 0.5}));
  std::vector<double> from(1);
  std::vector<Float16> to(1);
  const Error e = test::failure_of([&] {
    convert(bytes(to), bytes(from), {ElementType::float64, ElementType::float16});
  });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("float64") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
