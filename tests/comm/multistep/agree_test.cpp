#include "comm/multistep/agree.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/multistep/agree");

TEST_CASE("the first rank whose round or training differs is found") {
  const TrainingPlace here{.round = 3, .fingerprint = 7};
  const TrainingPlace later{.round = 4, .fingerprint = 7};
  const TrainingPlace other{.round = 3, .fingerprint = 8};
  CHECK(first_elsewhere(std::vector{here}) == std::nullopt);
  CHECK(first_elsewhere(std::vector{here, here, here}) == std::nullopt);
  CHECK(first_elsewhere(std::vector{here, here, later, other}) == Rank{2});
  CHECK(first_elsewhere(std::vector{here, other, later}) == Rank{1});
}

TEST_CASE("a difference is described by its rounds, or as another training") {
  const TrainingPlace reference{.round = 3, .fingerprint = 7};
  CHECK(describe_difference({2}, {.round = 5, .fingerprint = 8}, reference) ==
        "rank 2 continues in round 5, and rank 0 in round 3: load the states of one checkpoint on "
        "all ranks");
  CHECK(describe_difference({2}, {.round = 3, .fingerprint = 8}, reference) ==
        "rank 2 continues another training than rank 0: load the states of one checkpoint on all "
        "ranks");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
