#include "cli/workflows/metric_curve.hpp"

#include <algorithm>
#include <cmath>

#include "cli/workflows/metric_line.hpp"

namespace fastgpu::cli {

namespace {

constexpr std::size_t kMostCurves = 6;
constexpr std::size_t kMostCurvePoints = 600;

/// Keeps every second point.
void thin_out(std::vector<MetricPoint>& points) {
  for (std::size_t i = 0; 2 * i < points.size(); ++i)
    points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
}

}  // namespace

void MetricCurves::add(std::int64_t time, std::string_view line) {
  for (const PrintedMetric& metric : metrics_in(line)) {
    if (!is_measure(metric.name) || !std::isfinite(metric.value)) continue;
    auto found = std::ranges::find_if(
        collected_, [&](const Collected& one) { return one.curve.name == metric.name; });
    if (found == collected_.end()) {
      if (collected_.size() == kMostCurves) continue;
      found = collected_.insert(found, {.curve = {.name = metric.name}});
    }
    if (found->seen++ % found->stride != 0) continue;
    found->curve.points.push_back({.time = time, .value = metric.value});
    if (found->curve.points.size() <= kMostCurvePoints) continue;
    thin_out(found->curve.points);
    found->stride *= 2;
  }
}

std::vector<MetricCurve> MetricCurves::curves() const {
  std::vector<MetricCurve> found;
  for (const Collected& one : collected_)
    found.push_back(one.curve);
  return found;
}

}  // namespace fastgpu::cli
