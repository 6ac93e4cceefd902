#include "cli/commands/job/report_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/time_text.hpp"
#include "cli/ui/html.hpp"

namespace fastgpu::cli {
namespace {

constexpr double kCurveWidth = 1'000;
constexpr double kCurveHeight = 100;

std::string formatted(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// The extent of a curve.
struct CurveRange {
  double least = 0;
  double most = 0;
  bool has_times = true;
};

CurveRange range_of_curve(const MetricCurve& curve) {
  const auto [least, most] = std::ranges::minmax(curve.points, {}, &MetricPoint::value);
  return {.least = least.value,
          .most = most.value,
          .has_times = std::ranges::none_of(
              curve.points, [](const MetricPoint& point) { return point.time == 0; })};
}

/// Returns the points by the times at which they were printed, or at equal distances if a time is
/// unknown.
std::string curve_line(const MetricCurve& curve, const ChartSpan& span) {
  const CurveRange range = range_of_curve(curve);
  const double height = range.most > range.least ? range.most - range.least : 1;
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, span.end - span.begin));
  const auto last = static_cast<double>(curve.points.size() - 1);
  std::string line;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const MetricPoint& point = curve.points[i];
    const double along = range.has_times ? static_cast<double>(point.time - span.begin) / whole
                                         : static_cast<double>(i) / last;
    line += formatted("%.1f", kCurveWidth * std::clamp(along, 0.0, 1.0)) + "," +
            formatted("%.1f", kCurveHeight * (1 - (point.value - range.least) / height)) + " ";
  }
  return line;
}

std::string curve_figure(const MetricCurve& curve, const ChartSpan& span) {
  const CurveRange range = range_of_curve(curve);
  const std::string caption = curve.name + " " + formatted("%.4g", curve.points.front().value) +
                              " to " + formatted("%.4g", curve.points.back().value) + ", from " +
                              formatted("%.4g", range.least) + " to " +
                              formatted("%.4g", range.most);
  return "<figure><figcaption>" + html_text(caption) +
         "</figcaption><svg class=\"chart\" viewBox=\"0 -2 1000 104\" "
         "preserveAspectRatio=\"none\"><polyline class=\"metric\" "
         "vector-effect=\"non-scaling-stroke\" points=\"" +
         curve_line(curve, span) + "\"/></svg></figure>\n";
}

}  // namespace

std::string metrics_section(const JobEvidence& evidence, const ChartSpan& span) {
  std::string figures;
  for (const MetricCurve& curve : evidence.metrics)
    if (curve.points.size() > 1) figures += curve_figure(curve, span);
  if (figures.empty()) return {};
  return "<h2>Metrics</h2>\n<div class=\"charts\">\n" + figures +
         "</div>\n<p class=\"scale\">the measures that rank 0 has printed, from the start of the "
         "first rank to the end of the last</p>\n";
}

Json metrics_items(const JobEvidence& evidence) {
  Json items = Json::array();
  for (const MetricCurve& curve : evidence.metrics) {
    Json points = Json::array();
    for (const MetricPoint& point : curve.points)
      points.push_back({{"time", point.time != 0 ? Json(utc_text_ms(point.time)) : Json()},
                        {"value", point.value}});
    items.push_back({{"name", curve.name}, {"points", std::move(points)}});
  }
  return items;
}

}  // namespace fastgpu::cli
