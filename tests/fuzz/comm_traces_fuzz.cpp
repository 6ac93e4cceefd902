// Feeds files to the parser of the timelines of libfastgpu_comm, and what it reads to the summary.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli/commands/job/trace_drawing.hpp"
#include "cli/workflows/comm_trace.hpp"
#include "cli/workflows/trace_summary.hpp"

using namespace fastgpu::cli;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<RankTrace> traces = {parse_trace(text, size), parse_trace(text, size + 1)};
  traces[1].rank = 1;
  for (const TraceEvent& event : traces[0].events)
    if (event.name.empty() || event.name.size() > 40 || event.length < 0) std::abort();
  const TraceSummary summary = summary_of(traces);
  const TraceWindow window = window_of(summary);
  for (const StepWait& wait : summary.waits)
    if (wait.length <= 0 || wait.rank == wait.late_rank) std::abort();
  for (const RankTrace& trace : traces) {
    std::size_t bars = 0;
    for (const TraceLane& lane : drawing_of(trace, window, summary.waits).lanes)
      bars += lane.bars.size();
    if (bars > 300) std::abort();
  }
  return 0;
}
