// The course of the metrics that a job has printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

struct MetricPoint {
  std::int64_t time = 0;  ///< Nanoseconds since 1970 by the clock of the rank's node; 0: unknown.
  double value = 0;
  friend bool operator==(const MetricPoint&, const MetricPoint&) = default;
};

/// A measure, such as the loss, in the order in which it was printed.
struct MetricCurve {
  std::string name;
  std::vector<MetricPoint> points{};
};

/// Collects the finite measures of lines. Keeps the first six names, each with 600 points at most:
/// of more points it keeps some at equal distances.
class MetricCurves {
 public:
  void add(std::int64_t time, std::string_view line);

  std::vector<MetricCurve> curves() const;

 private:
  struct Collected {
    MetricCurve curve;
    std::uint64_t stride = 1;
    std::uint64_t seen = 0;
  };

  std::vector<Collected> collected_;
};

}  // namespace fastgpu::cli
