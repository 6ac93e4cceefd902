#include "cli/workflows/trace_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostOperations = 24;

/// An event with the rank that it is of.
struct RankEvent {
  int rank = 0;
  const TraceEvent* event = nullptr;
};

std::int64_t median_of(std::vector<std::int64_t> lengths) {
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  return *middle;
}

OperationSummary operation_of(const std::string& name, const std::vector<RankEvent>& events) {
  OperationSummary out{.name = name, .count = events.size()};
  std::vector<std::int64_t> lengths;
  out.longest = -1;
  for (const auto& [rank, event] : events) {
    lengths.push_back(event->length);
    out.bytes += std::min(event->bytes, UINT64_MAX - out.bytes);
    if (event->length <= out.longest) continue;
    out.longest = event->length;
    out.longest_rank = rank;
    out.longest_step = event->step;
  }
  out.median = median_of(std::move(lengths));
  return out;
}

std::vector<OperationSummary> operations_of(std::span<const RankTrace> traces) {
  std::map<std::string, std::vector<RankEvent>> by_name;
  for (const RankTrace& trace : traces)
    for (const TraceEvent& event : trace.events)
      by_name[event.name].push_back({trace.rank, &event});
  std::vector<OperationSummary> out;
  for (const auto& [name, events] : by_name)
    out.push_back(operation_of(name, events));
  std::ranges::stable_sort(out, std::greater<>(), &OperationSummary::count);
  if (out.size() > kMostOperations) out.resize(kMostOperations);
  return out;
}

/// Returns the same operation on all ranks that have it, for each one that waits for all.
std::vector<std::vector<RankEvent>> shared_operations(std::span<const RankTrace> traces) {
  std::map<std::tuple<std::uint32_t, std::string, std::uint64_t>, std::vector<RankEvent>> found;
  for (const RankTrace& trace : traces)
    for (const TraceEvent& event : trace.events) {
      if (!waits_for_all(event.name)) continue;
      // The number of an exact average is that of its bytes.
      const std::uint64_t number = event.name == "all-reduce" ? event.number : 0;
      auto& events = found[{event.step, event.name, number}];
      if (events.empty() || events.back().rank != trace.rank)
        events.push_back({trace.rank, &event});
    }
  std::vector<std::vector<RankEvent>> out;
  for (auto& [key, events] : found)
    if (events.size() > 1) out.push_back(std::move(events));
  return out;
}

/// Returns the wait of each rank in an operation. It is at most as long as the operation: clocks
/// may differ.
std::vector<StepWait> waits_in(const std::vector<RankEvent>& events) {
  const RankEvent& last =
      *std::ranges::max_element(events, {}, [](const RankEvent& one) { return one.event->began; });
  std::vector<StepWait> out;
  for (const auto& [rank, event] : events) {
    const std::int64_t length = std::min(last.event->began - event->began, event->length);
    if (length > 0) out.push_back({event->step, rank, last.rank, event->number, length});
  }
  return out;
}

std::vector<StepWait> waits_of(std::span<const RankTrace> traces) {
  std::map<std::pair<std::uint32_t, int>, StepWait> longest;
  for (const auto& events : shared_operations(traces))
    for (const StepWait& wait : waits_in(events)) {
      StepWait& known = longest[{wait.step, wait.rank}];
      if (wait.length > known.length) known = wait;
    }
  std::vector<StepWait> out;
  for (const auto& [key, wait] : longest)
    out.push_back(wait);
  return out;
}

/// Returns the sums of waits that have the same key, the longest total first. A step in which
/// several ranks wait counts once.
template <class Key>
std::vector<WaitSum> sums_of(const std::vector<StepWait>& waits, Key key) {
  struct Sum {
    WaitSum sum{};
    std::uint32_t last_step = 0;
  };
  std::map<std::pair<int, int>, Sum> sums;
  for (const StepWait& wait : waits) {
    const std::pair<int, int> ranks = key(wait);
    auto& [sum, last_step] = sums[ranks];
    if (sum.steps == 0 || last_step != wait.step) ++sum.steps;
    last_step = wait.step;
    sum.rank = ranks.first;
    sum.late_rank = ranks.second;
    sum.total += std::min(wait.length, INT64_MAX - sum.total);
    sum.longest = std::max(sum.longest, wait.length);
  }
  std::vector<WaitSum> out;
  for (const auto& [ranks, one] : sums)
    out.push_back(one.sum);
  std::ranges::stable_sort(out, std::greater<>(), &WaitSum::total);
  return out;
}

std::vector<StepSummary> steps_of(std::span<const RankTrace> traces,
                                  const std::vector<StepWait>& waits) {
  std::map<std::uint32_t, StepSummary> steps;
  std::map<std::uint32_t, int> last_rank;
  for (const RankTrace& trace : traces)
    for (const TraceEvent& event : trace.events) {
      const auto [place, is_new] = steps.try_emplace(event.step);
      StepSummary& step = place->second;
      if (is_new) step = {.step = event.step, .began = event.began, .ended = event.end()};
      if (is_new || last_rank[event.step] != trace.rank) ++step.ranks;
      last_rank[event.step] = trace.rank;
      step.began = std::min(step.began, event.began);
      step.ended = std::max(step.ended, event.end());
    }
  std::map<std::uint32_t, std::vector<StepWait>> by_step;
  for (const StepWait& wait : waits)
    by_step[wait.step].push_back(wait);
  for (const auto& [step, own] : by_step) {
    const WaitSum most =
        sums_of(own, [](const StepWait& wait) { return std::pair(-1, wait.late_rank); }).front();
    steps[step].late_rank = most.late_rank;
    steps[step].waited = most.longest;
  }
  std::vector<StepSummary> out;
  for (const auto& [number, step] : steps)
    out.push_back(step);
  return out;
}

}  // namespace

TraceSummary summary_of(std::span<const RankTrace> traces) {
  TraceSummary out{.operations = operations_of(traces), .waits = waits_of(traces)};
  out.steps = steps_of(traces, out.waits);
  out.late = sums_of(out.waits, [](const StepWait& wait) { return std::pair(-1, wait.late_rank); });
  out.pairs =
      sums_of(out.waits, [](const StepWait& wait) { return std::pair(wait.rank, wait.late_rank); });
  return out;
}

}  // namespace fastgpu::cli
