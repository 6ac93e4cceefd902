#include "base/join.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/join");

TEST_CASE("texts of any range are joined in its order, and an empty one has its place") {
  CHECK(joined(std::vector<std::string>{}).empty());
  CHECK(joined(std::vector<std::string>{"one"}) == "one");
  CHECK(joined(std::vector<std::string>{"a", "", "c"}, ",") == "a,,c");
  CHECK(joined(std::vector<std::string>{"", "b"}, ",") == ",b");
  CHECK(joined(std::array<std::string_view, 2>{"x", "y"}) == "x, y");
  CHECK(joined(std::set<std::string>{"b", "a"}, " and ") == "a and b");
}

TEST_CASE("a list that grows has separators only between its items") {
  std::string list;
  append_item(list, "one");
  CHECK(list == "one");
  append_item(list, "two");
  append_item(list, std::string("three"), "; ");
  CHECK(list == "one, two; three");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
