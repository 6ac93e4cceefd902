#include "comm/fusion/gradient_table.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;

GradientTable small_table() {
  GradientTable table;
  table.add({.name = "conv.weight", .shape = {8, 3, 3}});
  table.add({.name = "conv.bias", .type = ElementType::float16, .shape = {8}, .priority = -2});
  table.add({.name = "scale"});
  return table;
}

TEST_SUITE_BEGIN("comm/fusion/table");

TEST_CASE("a gradient has as many elements as its shape says") {
  const GradientTable table = small_table();
  CHECK(table.elements({0}) == 72);
  CHECK(table.bytes({0}) == 288);
  CHECK(table.bytes({1}) == 16);
  CHECK(table.elements({2}) == 1);
}

TEST_CASE("a name is registered once, and memory is not exceeded") {
  GradientTable table = small_table();
  CHECK(failure_of([&] { table.add({.name = "scale"}); }).kind() == ErrorKind::usage);
  const std::uint64_t much = std::uint64_t{1} << 40;
  CHECK(failure_of([&] {
          table.add({.name = "huge", .shape = {much, much}});
        }).kind() == ErrorKind::usage);
  CHECK(table.size() == 3);
  CHECK(table.add({.name = "empty", .shape = {much, 0, much}}) == GradientId{3});
}

TEST_CASE("a table survives its way to another rank") {
  const GradientTable table = small_table();
  const GradientTable again = decode_table(encode(table));
  CHECK(again.hash() == table.hash());
  CHECK_FALSE(first_difference(table, again));
}

TEST_CASE("whatever differs is seen in the hash, and said first") {
  const GradientTable mine = small_table();
  const auto difference = [&](const GradientTable& theirs) {
    CHECK(theirs.hash() != mine.hash());
    return first_difference(mine, theirs).value_or("none");
  };
  GradientTable shorter;
  shorter.add({.name = "conv.weight", .shape = {8, 3, 3}});
  CHECK(difference(shorter) == "1 gradients, not 3: missing float16 [8] 'conv.bias'");
  GradientTable reshaped;
  reshaped.add({.name = "conv.weight", .shape = {3, 8, 3}});
  CHECK(difference(reshaped) ==
        "gradient number 0 is float32 [3, 8, 3] 'conv.weight', not float32 [8, 3, 3] "
        "'conv.weight'");
  GradientTable urgent = decode_table(encode(shorter));
  urgent.add({.name = "conv.bias", .type = ElementType::float16, .shape = {8}, .priority = 3});
  CHECK(difference(urgent) == "gradient 'conv.bias' has priority 3, not -2");
  GradientTable longer = small_table();
  longer.add({.name = "more"});
  CHECK(difference(longer) == "4 gradients, not 3: also float32 [] 'more'");
}

TEST_CASE("what the library adds is named only if the gradients of the program are the same") {
  GradientTable mine = small_table();
  GradientTable longer = small_table();
  longer.add({.name = "more"});
  mine.add({.name = "fastgpu_comm.presence", .shape = {10}});
  longer.add({.name = "fastgpu_comm.presence", .shape = {12}});
  CHECK(first_difference(mine, longer) == "4 gradients, not 3: also float32 [] 'more'");
  CHECK(first_difference(longer, mine) == "3 gradients, not 4: missing float32 [] 'more'");
  CHECK(first_difference(mine, small_table()) ==
        "3 gradients, not 4: missing float32 [10] 'fastgpu_comm.presence'");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
