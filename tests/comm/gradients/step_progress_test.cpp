#include "comm/gradients/step_progress.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/gradients/step_progress");

TEST_CASE("a gradient begins once in a step, and again in the next") {
  StepProgress progress(3);
  CHECK(progress.is_between_steps());
  CHECK(progress.begin({1}));
  CHECK_FALSE(progress.begin({1}));
  CHECK_FALSE(progress.is_between_steps());
  progress.next_step();
  CHECK(progress.step() == 1);
  CHECK(progress.is_between_steps());
  CHECK(progress.begin({1}));
}

TEST_CASE("a step has the gradients that are ready, in their order, and its earliest report") {
  StepProgress progress(3);
  for (const GradientId id : {GradientId{2}, GradientId{0}}) {
    progress.begin(id);
    progress.ready(id);
  }
  progress.begin({1});
  progress.found({.rank = {4}, .gradient = {2}, .index = 1});
  progress.found({.rank = {4}, .gradient = {0}, .index = 6});
  progress.found({.rank = {4}, .gradient = {0}, .index = 9});
  const RankState state = progress.state({4}, 99, {.is_leaving = true});
  CHECK(state.rank == Rank{4});
  CHECK(state.step == 0);
  CHECK(state.plan == 99);
  CHECK(state.verdicts.is_leaving);
  CHECK(state.ready.missing() == std::vector<GradientId>{{1}});
  REQUIRE(progress.report());
  CHECK(progress.report()->gradient == GradientId{0});
  CHECK(progress.report()->index == 6);
  CHECK(progress.take_order() == std::vector<GradientId>{{2}, {0}});
  progress.next_step();
  CHECK(progress.take_order().empty());
  CHECK_FALSE(progress.report());
  CHECK(progress.state({4}, 99, {}).ready.count() == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
