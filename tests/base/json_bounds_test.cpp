#include "base/json_bounds.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/json_bounds");

TEST_CASE("brackets within strings are none, and usual documents are within the limits") {
  CHECK(json_excess(R"({"a":")" + std::string(1000, '[') + R"(\"[[","b":[1,2,{"c":3}]})").empty());
  CHECK(json_excess("<a>" + std::string(1000, '[')).empty());
  CHECK(json_excess(std::string(64, '[') + std::string(64, ']')).empty());
  CHECK(json_excess("\"unterminated").empty());
  CHECK(json_excess("[\"unterminated").empty());
  CHECK(json_excess("[\"ends in a backslash\\").empty());
  CHECK(json_excess("").empty());
}

TEST_CASE("a document that is too deep or too wide is described") {
  CHECK(json_excess(std::string(65, '[')) == "brackets more than 64 deep");
  CHECK(json_excess(" \n" + std::string(1'000'000, '{')) == "brackets more than 64 deep");
  std::string wide = "[";
  for (int i = 0; i < 600'000; ++i)
    wide += "1,";
  CHECK(json_excess(wide) == "more than 500,000 values");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
