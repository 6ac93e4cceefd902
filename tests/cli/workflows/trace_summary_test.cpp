#include "cli/workflows/trace_summary.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::cli {
namespace {

TraceEvent sum_of(std::uint32_t step, std::uint64_t number, std::int64_t began,
                  std::int64_t ended) {
  return {.name = "all-reduce",
          .row = 1,
          .step = step,
          .number = number,
          .bytes = 100,
          .began = began,
          .length = ended - began};
}

RankTrace rank_with(int rank, std::vector<TraceEvent> events) {
  RankTrace trace{.rank = rank, .node = "demo-" + std::to_string(rank)};
  trace.events = std::move(events);
  return trace;
}

TEST_SUITE_BEGIN("cli/trace_summary");

TEST_CASE("operations of a name have a count, their bytes, a median and the longest") {
  const std::vector<RankTrace> traces = {
      rank_with(0, {sum_of(1, 0, 0, 10), sum_of(2, 0, 0, 30), {.name = "wait_step", .length = 5}}),
      rank_with(4, {sum_of(1, 0, 0, 20)})};
  const TraceSummary summary = summary_of(traces);
  REQUIRE(summary.operations.size() == 2);
  const OperationSummary& sum = summary.operations[0];
  CHECK(sum.name == "all-reduce");
  CHECK(sum.count == 3);
  CHECK(sum.bytes == 300);
  CHECK(sum.median == 20);
  CHECK(sum.longest == 30);
  CHECK(sum.longest_rank == 0);
  CHECK(sum.longest_step == 2);
  CHECK(summary.operations[1].name == "wait_step");
  CHECK(summary.operations[1].bytes == 0);
}

TEST_CASE("a rank waits for the last one to begin an operation, once a step") {
  // Rank 2 begins last: by 50 in bucket 0 and by 90 in bucket 1 after rank 0.
  const std::vector<RankTrace> traces = {
      rank_with(0, {sum_of(5, 0, 0, 100), sum_of(5, 1, 10, 200)}),
      rank_with(1, {sum_of(5, 0, 20, 100), sum_of(5, 1, 30, 200)}),
      rank_with(2, {sum_of(5, 0, 50, 100), sum_of(5, 1, 100, 200)})};
  const TraceSummary summary = summary_of(traces);
  CHECK(summary.waits == std::vector<StepWait>{{5, 0, 2, 1, 90}, {5, 1, 2, 1, 70}});
  REQUIRE(summary.late.size() == 1);
  CHECK(summary.late[0].late_rank == 2);
  CHECK(summary.late[0].steps == 1);
  CHECK(summary.late[0].total == 160);
  CHECK(summary.late[0].longest == 90);
  REQUIRE(summary.pairs.size() == 2);
  CHECK(summary.pairs[0].rank == 0);
  CHECK(summary.pairs[0].total == 90);
  REQUIRE(summary.steps.size() == 1);
  CHECK(summary.steps[0].late_rank == 2);
  CHECK(summary.steps[0].waited == 90);
  CHECK(summary.steps[0].ranks == 3);
  CHECK(summary.steps[0].ended - summary.steps[0].began == 200);
}

TEST_CASE("the rank with the longest waits for it comes first") {
  std::vector<RankTrace> traces = {rank_with(0, {}), rank_with(1, {})};
  for (std::uint32_t step = 1; step <= 4; ++step) {
    const int late = step == 3 ? 0 : 1;
    for (int rank = 0; rank < 2; ++rank)
      traces[static_cast<std::size_t>(rank)].events.push_back(
          sum_of(step, 0, step * 1'000 + (rank == late ? 10 * step : 0), step * 1'000 + 500));
  }
  const TraceSummary summary = summary_of(traces);
  REQUIRE(summary.late.size() == 2);
  CHECK(summary.late[0].late_rank == 1);
  CHECK(summary.late[0].steps == 3);
  CHECK(summary.late[0].total == 70);
  CHECK(summary.late[1].late_rank == 0);
  CHECK(summary.late[1].longest == 30);
  CHECK(summary.steps.size() == 4);
}

TEST_CASE("a wait is no longer than the operation, whatever the clocks say") {
  const std::vector<RankTrace> traces = {rank_with(0, {sum_of(1, 0, 0, 10)}),
                                         rank_with(1, {sum_of(1, 0, 1'000'000, 1'000'010)})};
  const TraceSummary summary = summary_of(traces);
  CHECK(summary.waits == std::vector<StepWait>{{1, 0, 1, 0, 10}});
}

TEST_CASE("only operations that need all ranks are waits, and one rank waits for none") {
  std::vector<RankTrace> traces = {rank_with(0, {{.name = "mix", .step = 1, .length = 100}}),
                                   rank_with(1, {{.name = "mix", .step = 1, .began = 50}})};
  CHECK(summary_of(traces).waits.empty());
  CHECK(summary_of(traces).steps[0].late_rank == -1);
  // The number of an exact average is that of the bytes, which differ.
  traces = {
      rank_with(0, {{.name = "exact average", .step = 1, .number = 1, .began = 0, .length = 100}}),
      rank_with(1, {{.name = "exact average", .step = 1, .number = 2, .began = 9, .length = 91}})};
  CHECK(summary_of(traces).waits.size() == 1);
  CHECK(summary_of(std::span(traces).first(1)).waits.empty());
  CHECK(summary_of({}).steps.empty());
}

TEST_CASE("a job that writes a thousand names has the most frequent in its summary") {
  std::vector<TraceEvent> events = {{.name = "often"}, {.name = "often"}};
  for (int i = 0; i < 1'000; ++i)
    events.push_back({.name = "name " + std::to_string(i)});
  const std::vector<RankTrace> traces = {rank_with(0, events)};
  const TraceSummary summary = summary_of(traces);
  CHECK(summary.operations.size() == 24);
  CHECK(summary.operations[0].name == "often");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
