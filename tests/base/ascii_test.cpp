#include "base/ascii.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/ascii");

TEST_CASE("letters of ASCII change their case, and all other bytes stay") {
  CHECK(ascii_lower("AZ az 09 \xc3\x84") == "az az 09 \xc3\x84");
  CHECK(ascii_upper("AZ az 09 \xc3\xa4") == "AZ AZ 09 \xc3\xa4");
}

TEST_CASE("the neighbours of letters and digits are neither") {
  for (const char c : {'@', '[', '`', '{', '/', ':', '\xe4'}) {
    CAPTURE(c);
    CHECK_FALSE(is_ascii_letter_or_digit(c));
  }
  for (const char c : {'A', 'Z', 'a', 'z'})
    CHECK(is_ascii_letter(c));
  for (const char c : {'0', '9'})
    CHECK(is_ascii_digit(c));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
