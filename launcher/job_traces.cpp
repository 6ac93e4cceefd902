#include "launcher/job_traces.hpp"

namespace fastgpu::launcher {

std::vector<agent::TraceEnd> trace_ends(const NodeAnswer& answer) {
  check({answer}, "reading the timelines");
  return agent::parse_trace_ends(answer.out);
}

}  // namespace fastgpu::launcher
