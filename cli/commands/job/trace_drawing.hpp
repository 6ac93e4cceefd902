// The bars that show timelines of ranks: which steps, in which lanes, and what becomes one bar.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/workflows/comm_trace.hpp"
#include "cli/workflows/trace_summary.hpp"

namespace fastgpu::cli {

/// The steps that are drawn, and their time.
struct TraceWindow {
  std::uint32_t first_step = 0;
  std::uint32_t last_step = 0;
  std::int64_t began = 0;
  std::int64_t ended = 0;  ///< After `began`; equal to it without steps.
};

/// An event, or several short ones of the same name and step that are drawn as one.
struct TraceBar {
  TraceEvent event{};  ///< The first, with the time and the bytes of all.
  std::size_t count = 1;
  std::int64_t waited = 0;  ///< The part of it in which the rank waited for another one.
  int late_rank = -1;       ///< That one.
};

/// Bars that do not overlap, unless a row has more than four at the same time.
struct TraceLane {
  std::string label{};  ///< "program" or "stream 0"; empty for a further lane of the same row.
  std::vector<TraceBar> bars{};
};

struct RankDrawing {
  std::vector<TraceLane> lanes{};
  std::size_t left_out = 0;  ///< Short bars that are not drawn, because there are too many.
};

/// Returns the last four steps up to the last one that more than half of the ranks have: a rank may
/// have ended, or written its file, long before the others.
TraceWindow window_of(const TraceSummary& summary);

/// Returns the bars of a rank in the window, 300 at most. Events shorter than a 600th of the window
/// that follow each other become one bar.
RankDrawing drawing_of(const RankTrace& trace, const TraceWindow& window,
                       std::span<const StepWait> waits);

/// Returns the ranks to draw, `most` at most, sorted: those that others waited for most, and then
/// the lowest.
std::vector<const RankTrace*> ranks_to_draw(std::span<const RankTrace> traces,
                                            const TraceSummary& summary, std::size_t most);

}  // namespace fastgpu::cli
