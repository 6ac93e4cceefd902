// The metrics that running jobs print, read from the log of their rank 0.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cli/workflows/job_access.hpp"
#include "cli/workflows/metric_curve.hpp"
#include "cli/workflows/metric_line.hpp"
#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Returns the course of the measures that rank 0 of a job has printed, in its last 100,000 lines
/// at most; none if its log cannot be read within 30 seconds, and if its node is one of `absent`.
/// Throws interrupted alone.
std::vector<MetricCurve> curves_of(Services& services, const OpenJob& open,
                                   const std::vector<NodeName>& absent);

/// Reads what rank 0 of jobs has printed last, on standard output or standard error. The first
/// reading of a job takes the end of its log, each other one what was written since.
class JobMetrics {
 public:
  explicit JobMetrics(Services& services) : services_(services) {}

  /// Returns the latest metrics of a running job; none if it has printed none. A node that does not
  /// answer within five seconds changes nothing.
  const std::vector<PrintedMetric>& read(const std::string& job);

 private:
  struct Reading {
    std::string run{};
    std::chrono::steady_clock::time_point when{};
    std::vector<PrintedMetric> metrics{};
  };

  Services& services_;
  std::map<std::string, Reading> readings_;
};

}  // namespace fastgpu::cli
