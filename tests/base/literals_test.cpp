#include "base/literals.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("base/literals");

TEST_CASE("a boolean is one of eight words, in any case") {
  for (const char* text : {"true", "True", "TRUE", "yes", "Yes", "on", "ON", "1"}) {
    CAPTURE(text);
    CHECK(parse_boolean(text));
  }
  for (const char* text : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "0"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_boolean(text));
  }
}

TEST_CASE("what may mean yes or no is refused rather than guessed") {
  for (const char* text : {"", "n", "y", "none", "null", "disabled", "2", "-1", "00", " no", "no ",
                           "nope", "maybe", "f", "t", "~", "False\n"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_boolean(text); }).kind() == ErrorKind::usage);
  }
  CHECK(std::string(failure_of([] { parse_boolean("none"); }).what()) ==
        "'none' is not usable: give true or false");
}

TEST_CASE("a whole number is all digits and within its bounds") {
  CHECK(parse_integer("1", 1, 9) == 1);
  CHECK(parse_integer("-3", -5, 9) == -3);
  for (const char* text : {"", "0", "10", "1.0", "1e0", " 1", "1 ", "+1", "0x1", "one", "1_0",
                           "99999999999999999999", "4294967297"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_integer(text, 1, 9); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("the size of a disk is a number of GiB, or a size that is rounded up to GiB") {
  for (const auto& [text, gib] : {std::pair{"500", 500},
                                  {"500GiB", 500},
                                  {"500 GiB", 500},
                                  {"500GB", 466},
                                  {"1TB", 932},
                                  {"10TB", 9314},
                                  {"2TiB", 2048},
                                  {"0.5TiB", 512},
                                  {"1", 1},
                                  {"100MB", 1}}) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(parse_gib(text, 1, 10'000) == gib);
  }
  for (const char* text : {"", "0", "-5", "10001", "11TB", "1.5", "500gibs", "500:gp3", "big",
                           "500 ", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_gib(text, 1, 10'000); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a variable's name is letters, digits and underscores") {
  for (const char* text : {"A", "_", "a1", "LD_LIBRARY_PATH"})
    CHECK(is_variable_name(text));
  for (const char* text : {"", "1A", "A B", "A-B", "A=", "A.B", "ü", "A\n"})
    CHECK_FALSE(is_variable_name(text));
}

TEST_CASE("a choice is one of the words, and the nearest is named") {
  const std::vector<std::string> formats = {"table", "json"};
  CHECK(parse_choice("json", formats) == "json");
  CHECK(std::string(failure_of([&] { parse_choice("jsn", formats); }).what()) ==
        "'jsn' is not one of table, json; did you mean json?");
  CHECK(failure_of([&] { parse_choice("", formats); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
