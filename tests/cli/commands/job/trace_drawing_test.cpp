#include "cli/commands/job/trace_drawing.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace fastgpu::cli {
namespace {

TraceEvent event_at(std::int64_t began, std::int64_t length, int row = 1,
                    const char* name = "all-reduce") {
  return {.name = name, .row = row, .step = 1, .bytes = 10, .began = began, .length = length};
}

RankDrawing drawn(std::vector<TraceEvent> events, const std::vector<StepWait>& waits = {}) {
  RankTrace trace{.rank = 3};
  trace.events = std::move(events);
  const TraceWindow window{.first_step = 1, .last_step = 1, .began = 0, .ended = 600'000};
  return drawing_of(trace, window, waits);
}

TEST_SUITE_BEGIN("cli/trace_drawing");

TEST_CASE(
    "the window is the last four steps up to the last one that more than half of the ranks have") {
  TraceSummary summary;
  for (std::uint32_t step = 1; step <= 9; ++step)
    summary.steps.push_back({.step = step,
                             .ranks = step <= 5   ? 4UL
                                      : step <= 7 ? 3UL
                                                  : 2UL,
                             .began = step * 100,
                             .ended = step * 100 + 90});
  const TraceWindow window = window_of(summary);
  CHECK(window.first_step == 4);
  CHECK(window.last_step == 7);
  CHECK(window.began == 400);
  CHECK(window.ended == 790);
  summary.steps.resize(2);
  CHECK(window_of(summary).first_step == 1);
  const TraceWindow none = window_of({});
  CHECK(none.began == none.ended);
}

TEST_CASE("operations of a stream at the same time have lanes of their own") {
  const RankDrawing drawing = drawn({event_at(0, 50'000), event_at(10'000, 50'000),
                                     event_at(60'000, 50'000), event_at(5'000, 9'000, 0, "ready")});
  REQUIRE(drawing.lanes.size() == 3);
  CHECK(drawing.lanes[0].label == "program");
  CHECK(drawing.lanes[1].label == "stream 0");
  CHECK(drawing.lanes[1].bars.size() == 2);
  CHECK(drawing.lanes[2].label.empty());
  CHECK(drawing.lanes[2].bars.size() == 1);
}

TEST_CASE("a row has four lanes at most, whatever overlaps") {
  std::vector<TraceEvent> events;
  for (int i = 0; i < 20; ++i)
    events.push_back(event_at(i, 500'000));
  const RankDrawing drawing = drawn(events);
  REQUIRE(drawing.lanes.size() == 4);
  CHECK(drawing.lanes[3].bars.size() == 17);
}

TEST_CASE("events that are too short to be told apart are one bar with the bytes of all") {
  std::vector<TraceEvent> events;
  for (int i = 0; i < 100; ++i)
    events.push_back(event_at(i * 20, 10, 0, "ready"));
  events.push_back(event_at(100'000, 10, 0, "ready"));
  const RankDrawing drawing = drawn(events);
  REQUIRE(drawing.lanes.size() == 1);
  const auto& bars = drawing.lanes[0].bars;
  REQUIRE(bars.size() == 2);
  CHECK(bars[0].count == 100);
  CHECK(bars[0].event.bytes == 1'000);
  CHECK(bars[0].event.length == 99 * 20 + 10);
  CHECK(bars[1].count == 1);
}

TEST_CASE("other names and other steps are other bars, and so are long events") {
  TraceEvent later = event_at(20, 10);
  later.step = 2;
  CHECK(drawn({event_at(0, 10), later}).lanes[0].bars.size() == 1);  // Out of the window.
  CHECK(drawn({event_at(0, 10), event_at(20, 10, 1, "other")}).lanes[0].bars.size() == 2);
  CHECK(drawn({event_at(0, 10), event_at(20, 5'000)}).lanes[0].bars.size() == 2);
  CHECK(drawn({event_at(0, 5'000), event_at(5'000, 10)}).lanes[0].bars.size() == 2);
}

TEST_CASE("of too many bars the longest are drawn") {
  std::vector<TraceEvent> events;
  for (int i = 0; i < 1'000; ++i)
    events.push_back(event_at(i * 10'000, i == 500 ? 9'000 : 2'000));
  const RankDrawing drawing = drawn(events);
  std::size_t count = 0;
  bool has_longest = false;
  for (const TraceLane& lane : drawing.lanes)
    for (const TraceBar& bar : lane.bars) {
      ++count;
      has_longest = has_longest || bar.event.length == 9'000;
    }
  CHECK(count == 300);
  CHECK(drawing.left_out == 700);
  CHECK(has_longest);
}

TEST_CASE("the operation in which the rank waited has the wait") {
  TraceEvent second = event_at(100'000, 50'000);
  second.number = 1;
  const RankDrawing drawing =
      drawn({event_at(0, 50'000), second}, {{1, 3, 7, 1, 20'000}, {1, 2, 7, 0, 30'000}});
  const auto& bars = drawing.lanes.at(0).bars;
  REQUIRE(bars.size() == 2);
  CHECK(bars[0].late_rank == -1);
  CHECK(bars[1].late_rank == 7);
  CHECK(bars[1].waited == 20'000);
}

TEST_CASE("the ranks that others waited for are drawn, and then the lowest") {
  std::vector<RankTrace> traces;
  for (int rank = 0; rank < 40; ++rank)
    traces.push_back({.rank = rank});
  TraceSummary summary;
  summary.late = {{.rank = -1, .late_rank = 30}, {.rank = -1, .late_rank = 20}};
  std::vector<int> ranks;
  for (const RankTrace* trace : ranks_to_draw(traces, summary, 4))
    ranks.push_back(trace->rank);
  CHECK(ranks == std::vector{0, 1, 20, 30});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
