#include "cli/commands/job/report_span.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "launcher/job_times.hpp"

namespace fastgpu::cli {
namespace {

/// The least length of a span, so that positions in it are defined.
constexpr std::int64_t kShortestSpan = 1'000'000;

/// Widens the span by a moment that a node has reported; 0 is an unknown one.
void widen(std::optional<ChartSpan>& span, std::int64_t moment) {
  if (moment == 0) return;
  if (!span) span = ChartSpan{.begin = moment, .end = moment};
  span->begin = std::min(span->begin, moment);
  span->end = std::max(span->end, moment);
}

/// Returns the span of the moments that the nodes have reported; absent without any.
std::optional<ChartSpan> span_on_nodes(const JobEvidence& evidence) {
  std::optional<ChartSpan> span;
  for (const RankEvidence& rank : evidence.ranks) {
    widen(span, rank.began);
    widen(span, rank.ended);
  }
  for (const UsageEvidence& node : evidence.usage)
    for (const launcher::UsageSample& sample : node.usage.samples) {
      widen(span, sample.ended -
                      std::chrono::duration_cast<std::chrono::nanoseconds>(sample.span).count());
      widen(span, sample.ended);
    }
  for (const MetricCurve& curve : evidence.metrics)
    for (const MetricPoint& point : curve.points)
      widen(span, point.time);
  return span;
}

bool is_sampled(const JobEvidence& evidence) {
  return std::ranges::any_of(evidence.usage,
                             [](const UsageEvidence& node) { return !node.usage.samples.empty(); });
}

}  // namespace

ChartSpan span_of(const JobEvidence& evidence, state::TimePoint now) {
  const state::Job& job = evidence.job;
  const std::int64_t length =
      std::chrono::nanoseconds(launcher::run_time_of(launcher::course_of(job), now)).count();
  const auto beginning = launcher::beginning_of(launcher::course_of(job)).value_or(job.created);
  const std::int64_t began =
      std::chrono::duration_cast<std::chrono::nanoseconds>(beginning.time_since_epoch()).count();
  const auto known = span_on_nodes(evidence);
  ChartSpan span = known.value_or(ChartSpan{.begin = began, .end = began});
  const bool goes_on = !job.ended && !is_sampled(evidence);
  if (!known || goes_on) span.end = std::max(span.end, span.begin + length);
  span.end = std::max(span.end, span.begin + kShortestSpan);
  return span;
}

}  // namespace fastgpu::cli
