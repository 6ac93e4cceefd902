#include "base/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <set>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/random");

TEST_CASE("random digits have the wanted length and do not come twice") {
  CHECK(random_hex(0).empty());
  CHECK(random_hex(256).size() == 512);
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    const std::string digits = random_hex(16);
    CHECK(digits.size() == 32);
    CHECK(digits.find_first_not_of("0123456789abcdef") == std::string::npos);
    seen.insert(digits);
  }
  CHECK(seen.size() == 1'000);
}

TEST_CASE("bytes that are filled at random differ each time") {
  std::set<std::array<std::byte, 16>> seen;
  for (int i = 0; i < 100; ++i) {
    std::array<std::byte, 16> bytes{};
    fill_random(bytes);
    seen.insert(bytes);
  }
  CHECK(seen.size() == 100);
}

TEST_CASE("random numbers are from 0 up to 1, and on both sides of the middle") {
  int high = 0;
  for (int i = 0; i < 1'000; ++i) {
    const double part = random_part();
    REQUIRE(part >= 0);
    REQUIRE(part < 1);
    if (part >= 0.5) ++high;
  }
  CHECK(high > 300);
  CHECK(high < 700);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
