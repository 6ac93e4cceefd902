#include "comm/gradients/step_outcome.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/gradients/step_outcome");

constexpr std::size_t kGradients = 3;

GradientTable three_gradients() {
  GradientTable table;
  for (const char* name : {"a", "b", "c"})
    table.add({.name = name, .shape = {2}});
  return table;
}

GradientSet set_of(const std::vector<std::size_t>& ids) {
  GradientSet set(kGradients);
  for (const std::size_t id : ids)
    set.add({id});
  return set;
}

/// Returns the agreement of two ranks on a step in which these gradients were ready on each.
Agreement agreement_of(const std::vector<std::size_t>& on_rank_0,
                       const std::vector<std::size_t>& on_rank_1) {
  Agreement agreement;
  agreement.details.ready_on_all = set_of(on_rank_0);
  agreement.details.ready_on_all &= set_of(on_rank_1);
  std::vector<std::size_t> any = on_rank_0;
  any.insert(any.end(), on_rank_1.begin(), on_rank_1.end());
  agreement.details.ready_on_any = set_of(any);
  agreement.ranks = {{.rank = {0}, .step = 5, .ready = set_of(on_rank_0)},
                     {.rank = {1}, .step = 5, .ready = set_of(on_rank_1)}};
  return agreement;
}

Agreement with_nan_of_rank_1() {
  Agreement agreement = agreement_of({0, 1, 2}, {0, 1, 2});
  agreement.details.report = {.rank = {1}, .gradient = {2}, .index = 7};
  return agreement;
}

std::optional<StepFailure> failure_in(const Agreement& agreement, NonFiniteAction non_finite) {
  return failure_of(agreement, outcome_of(agreement, 5, non_finite), three_gradients(), non_finite,
                    [](const NonFiniteReport& report) {
                      return "rank " + std::to_string(report.rank.value) + " has NaN";
                    });
}

TEST_CASE(
    "a step whose gradients are ready everywhere is applied, and one ready nowhere is named") {
  const StepOutcome whole = outcome_of(agreement_of({0, 1, 2}, {0, 1, 2}), 5, {});
  CHECK(whole.step == 5);
  CHECK(whole.is_applied);
  CHECK(whole.skipped.empty());
  const StepOutcome partial = outcome_of(agreement_of({0, 2}, {0, 2}), 5, {});
  CHECK(partial.is_applied);
  CHECK(partial.skipped == std::vector<GradientId>{{1}});
  CHECK_FALSE(failure_in(agreement_of({0, 2}, {0, 2}), {}));
}

TEST_CASE("a step is applied with numbers that are not finite unless they skip or stop it") {
  const std::vector<std::pair<NonFiniteAction, bool>> rows = {{NonFiniteAction::off, true},
                                                              {NonFiniteAction::warn, true},
                                                              {NonFiniteAction::skip, false},
                                                              {NonFiniteAction::stop, false}};
  for (const auto& [action, is_applied] : rows) {
    const StepOutcome outcome = outcome_of(with_nan_of_rank_1(), 5, action);
    CHECK(outcome.is_applied == is_applied);
    REQUIRE(outcome.non_finite);
    CHECK(outcome.non_finite->rank == Rank{1});
    CHECK(failure_in(with_nan_of_rank_1(), action).has_value() ==
          (action == NonFiniteAction::stop));
  }
}

TEST_CASE("a number that stops a step is the failure of its rank") {
  const auto failure = failure_in(with_nan_of_rank_1(), NonFiniteAction::stop);
  REQUIRE(failure);
  CHECK(failure->culprit == Rank{1});
  CHECK(failure->error.kind() == ErrorKind::remote);
  CHECK(std::string(failure->error.what()) == "rank 1 has NaN");
}

TEST_CASE("gradients that are ready on some ranks only fail the step, unless a rank leaves") {
  Agreement agreement = agreement_of({0, 1, 2}, {0, 2});
  CHECK_FALSE(outcome_of(agreement, 5, {}).is_applied);
  const auto failure = failure_in(agreement, {});
  REQUIRE(failure);
  CHECK(failure->culprit == Rank{1});
  CHECK(failure->error.kind() == ErrorKind::usage);
  CHECK(std::string(failure->error.what()).find("'b'") != std::string::npos);
  agreement.summary.verdicts.is_leaving = true;
  CHECK(outcome_of(agreement, 5, {}).is_somebody_leaving);
  CHECK_FALSE(failure_in(agreement, {}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
