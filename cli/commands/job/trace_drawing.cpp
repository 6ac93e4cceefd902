#include "cli/commands/job/trace_drawing.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/contains.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kDrawnSteps = 4;
constexpr std::size_t kMostTraceBars = 300;
constexpr std::size_t kMostLanesOfRow = 4;
constexpr std::int64_t kShortestParts = 600;

/// Adds the wait for another rank, if the bar is the operation in which this rank waited.
void add_wait(TraceBar& bar, int rank, std::span<const StepWait> waits) {
  if (!waits_for_all(bar.event.name)) return;
  for (const StepWait& wait : waits)
    if (wait.step == bar.event.step && wait.rank == rank && wait.number == bar.event.number) {
      bar.waited = std::min(wait.length, bar.event.length);
      bar.late_rank = wait.late_rank;
    }
}

/// Makes an event a part of the bar before it, if both are too short to be seen apart.
bool is_merged(TraceBar& bar, std::int64_t length_before, const TraceEvent& event,
               std::int64_t shortest) {
  const bool is_alike = bar.event.name == event.name && bar.event.step == event.step;
  const bool are_short = length_before < shortest && event.length < shortest;
  if (!is_alike || !are_short || event.began - bar.event.end() >= shortest) return false;
  bar.event.length = std::max(bar.event.end(), event.end()) - bar.event.began;
  bar.event.bytes += std::min(event.bytes, UINT64_MAX - bar.event.bytes);
  ++bar.count;
  return true;
}

/// Returns the bars of events of one row, which are sorted by their begin.
std::vector<TraceBar> bars_of(const std::vector<TraceEvent>& events, std::int64_t shortest) {
  std::vector<TraceBar> bars;
  std::int64_t length_before = 0;
  for (const TraceEvent& event : events) {
    if (bars.empty() || !is_merged(bars.back(), length_before, event, shortest))
      bars.push_back({.event = event});
    length_before = event.length;
  }
  return bars;
}

/// Puts each bar into the first lane that is free when it begins.
std::vector<TraceLane> lanes_of(int row, std::vector<TraceBar> bars) {
  std::vector<TraceLane> lanes;
  for (TraceBar& bar : bars) {
    auto lane = std::ranges::find_if(lanes, [&](const TraceLane& one) {
      return one.bars.back().event.end() <= bar.event.began;
    });
    if (lane == lanes.end() && lanes.size() < kMostLanesOfRow)
      lane = lanes.insert(lane, TraceLane());
    if (lane == lanes.end()) --lane;
    lane->bars.push_back(std::move(bar));
  }
  if (!lanes.empty())
    lanes.front().label = row == 0 ? "program" : "stream " + std::to_string(row - 1);
  return lanes;
}

/// Drops the shortest bars beyond the limit. Returns their number.
std::size_t drop_shortest(std::map<int, std::vector<TraceBar>>& rows) {
  std::vector<std::int64_t> lengths;
  for (const auto& [row, bars] : rows)
    for (const TraceBar& bar : bars)
      lengths.push_back(bar.event.length);
  if (lengths.size() <= kMostTraceBars) return 0;
  std::ranges::sort(lengths, std::greater<>());
  const std::int64_t least = lengths[kMostTraceBars - 1];
  auto room =
      static_cast<std::size_t>(std::ranges::count(std::span(lengths).first(kMostTraceBars), least));
  for (auto& [row, bars] : rows)
    std::erase_if(bars, [&](const TraceBar& bar) {
      if (bar.event.length != least) return bar.event.length < least;
      if (room == 0) return true;
      --room;
      return false;
    });
  return lengths.size() - kMostTraceBars;
}

}  // namespace

TraceWindow window_of(const TraceSummary& summary) {
  if (summary.steps.empty()) return {};
  const std::size_t most = std::ranges::max_element(summary.steps, {}, &StepSummary::ranks)->ranks;
  std::size_t last = 0;
  for (std::size_t i = 0; i < summary.steps.size(); ++i)
    if (2 * summary.steps[i].ranks > most) last = i;
  const std::size_t first = last - std::min(last, kDrawnSteps - 1);
  TraceWindow window{.first_step = summary.steps[first].step,
                     .last_step = summary.steps[last].step,
                     .began = summary.steps[first].began,
                     .ended = summary.steps[first].ended};
  for (std::size_t i = first; i <= last; ++i) {
    window.began = std::min(window.began, summary.steps[i].began);
    window.ended = std::max(window.ended, summary.steps[i].ended);
  }
  window.ended = std::max(window.ended, window.began + 1);
  return window;
}

RankDrawing drawing_of(const RankTrace& trace, const TraceWindow& window,
                       std::span<const StepWait> waits) {
  std::map<int, std::vector<TraceEvent>> events;
  for (const TraceEvent& event : trace.events)
    if (event.step >= window.first_step && event.step <= window.last_step)
      events[event.row].push_back(event);
  const std::int64_t shortest = (window.ended - window.began) / kShortestParts + 1;
  std::map<int, std::vector<TraceBar>> rows;
  for (auto& [row, own] : events) {
    std::ranges::stable_sort(own, {}, &TraceEvent::began);
    rows[row] = bars_of(own, shortest);
  }
  RankDrawing drawing;
  drawing.left_out = drop_shortest(rows);
  for (auto& [row, bars] : rows) {
    for (TraceBar& bar : bars)
      add_wait(bar, trace.rank, waits);
    for (TraceLane& lane : lanes_of(row, std::move(bars)))
      drawing.lanes.push_back(std::move(lane));
  }
  return drawing;
}

std::vector<const RankTrace*> ranks_to_draw(std::span<const RankTrace> traces,
                                            const TraceSummary& summary, std::size_t most) {
  std::vector<int> first;
  for (const WaitSum& late : summary.late)
    if (first.size() < most / 2) first.push_back(late.late_rank);
  std::vector<const RankTrace*> out;
  for (const RankTrace& trace : traces)
    if (contains(first, trace.rank)) out.push_back(&trace);
  for (const RankTrace& trace : traces)
    if (out.size() < most && !contains(first, trace.rank)) out.push_back(&trace);
  std::ranges::sort(out, {}, [](const RankTrace* trace) { return trace->rank; });
  return out;
}

}  // namespace fastgpu::cli
