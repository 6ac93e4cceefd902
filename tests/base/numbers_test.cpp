#include "base/numbers.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/numbers");

TEST_CASE("only a text that is a number as a whole has a value") {
  CHECK(to_number<int>("42") == 42);
  CHECK(to_number<int>("-1") == -1);
  CHECK(to_number<double>("0.25") == 0.25);
  for (const char* const text : {"", " 1", "1 ", "+1", "1x", "0x1", "one"}) {
    CAPTURE(text);
    CHECK_FALSE(to_number<int>(text));
  }
}

TEST_CASE("a number that the type cannot hold is absent") {
  CHECK(to_number<std::uint16_t>("65535") == 65535);
  CHECK_FALSE(to_number<std::uint16_t>("65536"));
  CHECK_FALSE(to_number<unsigned>("-1"));
  CHECK_FALSE(leading_number<std::uint8_t>("256 more"));
}

TEST_CASE("digits of another base are read in it") {
  CHECK(to_number<unsigned char>("fF", 16) == 255);
  CHECK(to_number<int>("644", 8) == 0644);
  CHECK_FALSE(to_number<int>("8", 8));
}

TEST_CASE("a number at the beginning ends where its digits end") {
  CHECK(leading_number<int>("12 of 34") == 12);
  CHECK_FALSE(leading_number<int>("no 12"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
