// Reading the handwritten digits.
#include "digits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace digits {
namespace {

std::string line_with(const std::string& first_pixel, const std::string& digit) {
  std::string line = first_pixel;
  for (std::size_t i = 1; i < kPixels; ++i)
    line += ",16";
  return line + "," + digit + "\n";
}

training::Dataset parse(const std::string& text) {
  std::istringstream in(text);
  return read_digits(in, "test.csv");
}

TEST_SUITE_BEGIN("comm/digits");

TEST_CASE("a line is 64 pixels and a digit") {
  const training::Dataset digits = parse(line_with("8", "7"));
  REQUIRE(digits.size() == 1);
  CHECK(digits.classes[0] == 7);
  CHECK(digits.image(0)[0] == 8);
  CHECK(digits.image(0)[63] == 16);
  CHECK(digits.brightest == 16);
}

TEST_CASE("a line that is something else is named by its number") {
  for (const std::string& bad :
       {line_with("17", "1"), line_with("-1", "1"), line_with("x", "1"), line_with("1", "10"),
        line_with("1", "1,1"), line_with("1", ""), std::string("1,2,3\n"), std::string("\n")}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH(parse(line_with("1", "1") + bad),
                      "test.csv:2: not 64 numbers from 0 to 16 and a digit");
  }
  CHECK_THROWS_WITH(parse(""), "test.csv has no samples");
}

TEST_CASE("a fifth of every digit is put aside, always the same") {
  const training::Dataset all = load_digits(DIGITS_DATA);
  const training::Split first = split(all);
  const training::Split second = split(all);
  CHECK(all.size() == 1797);
  CHECK(first.training.size() + first.test.size() == all.size());
  CHECK(first.test.size() == 355);
  CHECK(std::ranges::count(first.test.classes, 3) == std::ranges::count(all.classes, 3) / 5);
  CHECK(first.test.pixels == second.test.pixels);
}

TEST_SUITE_END();

}  // namespace
}  // namespace digits
