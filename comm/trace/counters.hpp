// Numbers that a rank counts, written for programs to read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct Counter {
  std::string_view name;  ///< Such as "gradient_bytes"; of a-z and '_'.
  std::string_view help;  ///< One sentence without line breaks.
  double value = 0;
  std::vector<double> by_stream{};  ///< The count of each stream, in place of `value`.
  bool is_state = false;            ///< The value may become less.
};

/// Returns {"schema": "fastgpu.comm.counters/1", "rank": 0, "counters": {"steps": 12, "lane_bytes":
/// [8, 8]}, "links": [{"name": "tcp 10.0.0.1", ...}]}.
std::string counters_json(std::span<const Counter> counters, std::span<const LinkCounters> links,
                          Rank rank);

/// Returns Prometheus' text format: each as fastgpu_comm_<name>_total, or as a gauge without
/// "_total" if it is a state, with labels for the rank, and the stream if streams count; then the
/// counts of links.
std::string counters_prometheus(std::span<const Counter> counters,
                                std::span<const LinkCounters> links, Rank rank);

}  // namespace fastgpu::comm
