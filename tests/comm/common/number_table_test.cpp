#include "comm/common/number_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/common");

TEST_CASE("a table of numbers holds what a map holds") {
  std::mt19937_64 random(1);
  NumberTable<int> table;
  std::map<std::uint64_t, int> map;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = random() % 300 << 28;
    int* const found = table.find(number);
    REQUIRE((found != nullptr) == map.contains(number));
    if (found == nullptr) {
      table.add(number, i);
      map[number] = i;
    } else {
      CHECK(*found == map[number]);
      CHECK(table.take(number) == map[number]);
      map.erase(number);
    }
    CHECK(table.size() == map.size());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
