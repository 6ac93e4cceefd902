// Feeds lines of a program to the parser of metrics.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/workflows/metric_curve.hpp"
#include "cli/workflows/metric_line.hpp"

namespace {

/// Aborts unless the metric is short and of printable ASCII.
void check(const fastgpu::cli::PrintedMetric& metric) {
  if (metric.name.empty() || metric.name.size() > 32) std::abort();
  if (metric.text.empty() || metric.text.size() > 24) std::abort();
  for (const char c : metric.name + metric.text)
    if (c <= ' ' || c >= '\x7f') std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& metric : fastgpu::cli::last_metrics(text))
    check(metric);
  for (const auto& metric : fastgpu::cli::metrics_in(text))
    check(metric);
  fastgpu::cli::MetricCurves curves;
  curves.add(1, text);
  curves.curves();
  return 0;
}
