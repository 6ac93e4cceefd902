#include "base/contains.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu {
namespace {

struct Pair {
  std::string name;
  int value = 0;
};

TEST_SUITE_BEGIN("base/contains");

TEST_CASE("a range has its elements and no others, of a type that compares with theirs") {
  static constexpr std::array<std::string_view, 2> kWords = {"one", "two"};
  CHECK(contains(kWords, std::string("two")));
  CHECK_FALSE(contains(kWords, "three"));
  CHECK_FALSE(contains(std::vector<int>{}, 0));
}

TEST_CASE("a member of the elements is looked for by its address") {
  const std::vector<Pair> pairs = {{"a", 1}, {"b", 2}};
  CHECK(contains(pairs, "b", &Pair::name));
  CHECK_FALSE(contains(pairs, 3, &Pair::value));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
