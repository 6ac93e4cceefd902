#include "cli/commands/job/report_traces.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/units.hpp"
#include "cli/commands/job/report_parts.hpp"
#include "cli/commands/job/trace_drawing.hpp"
#include "cli/ui/html.hpp"
#include "cli/workflows/trace_summary.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostFiles = 64;
constexpr std::size_t kMostDrawnRanks = 16;
constexpr std::size_t kOpenRanks = 4;
constexpr std::size_t kMostLateRanks = 16;
constexpr std::size_t kMostWaiting = 3;
constexpr std::size_t kMostSteps = 20;
constexpr std::size_t kMostStepItems = 1'000;
constexpr std::size_t kMostWaitItems = 256;

constexpr std::string_view kTracesStyle =
    ".trace{margin:4px 10px 8px}.trace .track{height:16px}\n"
    ".op{position:absolute;top:1px;bottom:1px;min-width:2px;border-radius:2px;"
    "background-color:var(--told);cursor:default}\n"
    ".op.sum{background-color:var(--open)}.op.ready{background-color:var(--good)}"
    ".op.step{background:none;border:1px solid var(--told);box-sizing:border-box;"
    "border-width:0 1px;color:var(--soft);font-size:11px;line-height:14px;overflow:hidden;"
    "white-space:nowrap;text-align:center}\n"
    ".op[title]:hover,.op:focus{outline:2px solid var(--text);z-index:1}\n"
    ".op[title]:hover::after,.op:focus::after{content:attr(title);position:fixed;left:8px;right:"
    "8px;"
    "bottom:8px;z-index:2;padding:6px 12px;background:var(--text);color:var(--page);"
    "border-radius:4px;font-size:14px;line-height:1.4;text-align:left;white-space:normal}\n"
    ".key{display:inline-block;width:12px;height:12px;border-radius:2px;margin:0 4px 0 12px;"
    "position:static;vertical-align:-1px}.key.waited{background:var(--bad)}\n";

std::string table_of(const std::vector<std::string>& columns, const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + html_row("th", columns) + rows + "</table></div>\n";
}

std::string note_of(const std::string& text) {
  return "<p class=\"scale\">" + html_text(text) + "</p>\n";
}

/// Returns "12.3us", "1.2ms" or what is longer as elsewhere.
std::string short_time(std::int64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (value >= 1e9) return to_string(std::chrono::milliseconds(nanoseconds / 1'000'000));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 1e6 ? "%.3gus" : "%.3gms",
                value < 1e6 ? value / 1e3 : value / 1e6);
  return text.data();
}

std::string size_text(std::uint64_t bytes) {
  return bytes > 0 ? to_string(Bytes{bytes}) : "";
}

/// Returns "step 12", or "steps 12 to 15".
std::string steps_text(std::uint32_t first, std::uint32_t last) {
  if (first == last) return "step " + std::to_string(first);
  return "steps " + std::to_string(first) + " to " + std::to_string(last);
}

std::string node_of(const JobEvidence& evidence, int rank) {
  const auto found = std::ranges::find(evidence.traces, rank, &RankTrace::rank);
  return found == evidence.traces.end() ? "" : found->node;
}

// ---- what was read ----

/// Returns which parts of the timelines this report has read, a sentence each.
std::string reading_notes(const JobEvidence& evidence, const TraceSummary& summary) {
  const auto& traces = evidence.traces;
  std::string out;
  if (!summary.steps.empty())
    out += note_of(counted(traces.size(), "timeline") + ", " +
                   steps_text(summary.steps.front().step, summary.steps.back().step));
  const auto cut =
      std::ranges::count_if(traces, [](const RankTrace& one) { return !one.is_whole(); });
  std::uint64_t read = 0;
  for (const RankTrace& trace : traces)
    if (!trace.is_whole()) read = std::max(read, trace.bytes_read);
  if (cut > 0)
    out += note_of("Of " + counted(cut, "timeline") + " only the end was read, " +
                   to_string(Bytes{read}) + " at most of each: earlier steps are in the files.");
  if (evidence.traces_left_out > 0)
    out += note_of(counted(evidence.traces_left_out, "further timeline") +
                   (evidence.traces_left_out == 1 ? " was" : " were") + " not read.");
  std::size_t lines = 0;
  for (const RankTrace& trace : traces)
    lines += trace.unread_lines;
  if (lines > 0)
    out += note_of(counted(lines, "line") +
                   " could not be read: incomplete, or not as libfastgpu_comm writes them.");
  return out;
}

// ---- tables ----

std::string operations_table(const TraceSummary& summary) {
  std::string rows;
  for (const OperationSummary& one : summary.operations)
    rows += html_row("td", {one.name, std::to_string(one.count), size_text(one.bytes),
                            short_time(one.median), short_time(one.longest),
                            "rank " + std::to_string(one.longest_rank) + ", step " +
                                std::to_string(one.longest_step)});
  return table_of({"operation", "count", "bytes", "median", "longest", "which"}, rows);
}

/// Returns "rank 0 (12ms), rank 2 (3ms)": those that waited longest for a rank.
std::string waiting_text(const TraceSummary& summary, int late_rank) {
  std::string text;
  std::size_t count = 0;
  for (const WaitSum& pair : summary.pairs) {
    if (pair.late_rank != late_rank) continue;
    if (++count > kMostWaiting) return text + ", ...";
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(pair.rank) + " (" +
            short_time(pair.total) + ")";
  }
  return text;
}

std::string late_ranks_table(const JobEvidence& evidence, const TraceSummary& summary) {
  if (summary.late.empty()) return {};
  std::string rows;
  for (const WaitSum& late :
       std::span(summary.late).first(std::min(summary.late.size(), kMostLateRanks)))
    rows += html_row("td", {std::to_string(late.late_rank), node_of(evidence, late.late_rank),
                            std::to_string(late.steps), short_time(late.total),
                            short_time(late.longest), waiting_text(summary, late.late_rank)});
  const WaitSum& most = summary.late.front();
  std::string out = "<h3>Waits for other ranks</h3>\n<p>The others waited for rank " +
                    std::to_string(most.late_rank) + " most: in " + counted(most.steps, "step") +
                    ", " + short_time(most.longest) + " at most.</p>\n";
  out += table_of({"waited for", "node", "steps", "all ranks", "longest", "by"}, rows);
  return out + note_of(
                   "A rank waits from its begin of an operation to that of the last rank, once "
                   "a step. The clocks of nodes are compared when the job begins.");
}

std::string steps_table(const TraceSummary& summary) {
  if (summary.steps.empty()) return {};
  const std::size_t shown = std::min(summary.steps.size(), kMostSteps);
  std::string rows;
  for (const StepSummary& step : std::span(summary.steps).last(shown))
    rows += html_row(
        "td", {std::to_string(step.step), short_time(step.ended - step.began),
               std::to_string(step.ranks), step.late_rank < 0 ? "" : std::to_string(step.late_rank),
               step.late_rank < 0 ? "" : short_time(step.waited)});
  return "<details><summary>" +
         html_text(shown == summary.steps.size() ? "steps" : "the last " + counted(shown, "step")) +
         "</summary>\n<div class=\"trace\">" +
         table_of({"step", "duration", "ranks", "waited for", "longest wait"}, rows) +
         "</div></details>\n";
}

// ---- bars ----

/// Returns the place of a time in the window, from 0 to 1.
double place_of(std::int64_t time, const TraceWindow& window) {
  const auto whole = static_cast<double>(window.ended - window.began);
  return std::clamp(static_cast<double>(time - window.began) / whole, 0.0, 1.0);
}

std::string_view class_of(const std::string& name) {
  if (waits_for_all(name) || name.starts_with("mix")) return "sum";
  return name == "ready" ? "ready" : "other";
}

/// Returns "all-reduce 3 of step 12, 4.2 MB, 1.2ms, waited 800us for rank 1".
std::string bar_title(const TraceBar& bar) {
  const TraceEvent& event = bar.event;
  std::string text = event.name;
  if (bar.count > 1)
    text += " (" + std::to_string(bar.count) + ")";
  else if (event.number > 0 || event.name == "all-reduce")
    text += " " + std::to_string(event.number);
  text += " of step " + std::to_string(event.step);
  if (event.bytes > 0) text += ", " + to_string(Bytes{event.bytes});
  text += ", " + short_time(event.length);
  if (bar.late_rank >= 0)
    text += ", waited " + short_time(bar.waited) + " for rank " + std::to_string(bar.late_rank);
  return text;
}

std::string bar_element(std::string_view css_class, std::int64_t began, std::int64_t end,
                        const TraceWindow& window, const std::string& title,
                        const std::string& style = "", const std::string& text = "") {
  const double from = place_of(began, window);
  return "<div class=\"op " + std::string(css_class) +
         "\" tabindex=\"0\" style=\"left:" + share_text(from) +
         ";width:" + share_text(place_of(end, window) - from) + style + "\" title=\"" +
         html_text(title) + "\">" + html_text(text) + "</div>";
}

/// Returns a bar whose first part is marked where the rank waited.
std::string bar_of(const TraceBar& bar, const TraceWindow& window) {
  std::string style;
  if (bar.waited > 0 && bar.event.length > 0) {
    const std::string part =
        share_text(static_cast<double>(bar.waited) / static_cast<double>(bar.event.length));
    style =
        ";background-image:linear-gradient(90deg,var(--bad) " + part + ",transparent " + part + ")";
  }
  return bar_element(class_of(bar.event.name), bar.event.began, bar.event.end(), window,
                     bar_title(bar), style);
}

std::string track_of(const std::string& label, const std::string& bars) {
  return "<div class=\"mono\">" + html_text(label) + "</div><div class=\"track\">" + bars +
         "</div>\n";
}

/// Returns the row of the steps of one rank: each from its first event to its last one.
std::string steps_track(const RankTrace& trace, const TraceWindow& window,
                        std::span<const StepWait> waits) {
  std::string bars;
  const TraceSummary own = summary_of(std::span(&trace, 1));
  for (const StepSummary& step : own.steps) {
    if (step.step < window.first_step || step.step > window.last_step) continue;
    std::string title =
        "step " + std::to_string(step.step) + ", " + short_time(step.ended - step.began);
    for (const StepWait& wait : waits)
      if (wait.step == step.step && wait.rank == trace.rank)
        title +=
            ", waited " + short_time(wait.length) + " for rank " + std::to_string(wait.late_rank);
    bars +=
        bar_element("step", step.began, step.ended, window, title, "", std::to_string(step.step));
  }
  return track_of("steps", bars);
}

std::string rank_drawing(const RankTrace& trace, const TraceWindow& window,
                         const TraceSummary& summary, bool is_open) {
  const RankDrawing drawing = drawing_of(trace, window, summary.waits);
  std::string out = std::string("<details") + (is_open ? " open=\"open\"" : "") +
                    "><summary>rank " + std::to_string(trace.rank) + " on " +
                    html_text(trace.node) + "</summary>\n<div class=\"trace\">";
  if (drawing.lanes.empty()) return out + note_of("nothing in these steps") + "</div></details>\n";
  out += "<div class=\"bars\">\n" + steps_track(trace, window, summary.waits);
  for (const TraceLane& lane : drawing.lanes) {
    std::string bars;
    for (const TraceBar& bar : lane.bars)
      bars += bar_of(bar, window);
    out += track_of(lane.label, bars);
  }
  out += "</div>\n";
  if (drawing.left_out > 0)
    out += note_of("The " + counted(drawing.left_out, "shortest bar") + " are not drawn.");
  return out + "</div></details>\n";
}

std::string drawings(const JobEvidence& evidence, const TraceSummary& summary) {
  const TraceWindow window = window_of(summary);
  if (window.ended == window.began) return {};
  const auto ranks = ranks_to_draw(evidence.traces, summary, kMostDrawnRanks);
  std::vector<int> open;
  for (const WaitSum& late : summary.late)
    if (open.size() < kOpenRanks / 2) open.push_back(late.late_rank);
  for (const RankTrace* trace : ranks)
    if (open.size() < kOpenRanks && !contains(open, trace->rank)) open.push_back(trace->rank);
  std::string out = "<h3>" + html_text(steps_text(window.first_step, window.last_step)) + ", " +
                    html_text(short_time(window.ended - window.began)) +
                    "</h3>\n<p class=\"legend\"><span class=\"op key sum\"></span>sum of a bucket"
                    "<span class=\"op key waited\"></span>waits in it for another rank"
                    "<span class=\"op key ready\"></span>gradient is packed"
                    "<span class=\"op key other\"></span>end of a step, and others</p>\n";
  for (const RankTrace* trace : ranks)
    out += rank_drawing(*trace, window, summary, contains(open, trace->rank));
  if (ranks.size() < evidence.traces.size())
    out += note_of(std::to_string(ranks.size()) + " of " + counted(evidence.traces.size(), "rank") +
                   " are drawn, those that others waited for among them.");
  return out;
}

// ---- files ----

std::string files_table(const JobEvidence& evidence) {
  std::string rows;
  std::size_t count = 0;
  for (const UsageEvidence& node : evidence.usage)
    for (const auto& one : node.usage.timelines)
      if (++count <= kMostFiles)
        rows += html_row(
            "td", {std::to_string(one.rank), node.node, one.path, to_string(Bytes{one.size})});
  if (count == 0) return {};
  std::string out = "<h3>Files</h3>\n" + table_of({"rank", "node", "file", "size"}, rows);
  if (count > kMostFiles)
    out +=
        "<p>" + std::to_string(kMostFiles) + " of " + counted(count, "file") + " are shown.</p>\n";
  return out +
         note_of("fastgpu cp CLUSTER/NODE:FILE . copies one here; Perfetto and chrome show it");
}

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

Json step_item(const StepSummary& step) {
  return {{"step", step.step},
          {"ranks", step.ranks},
          {"seconds", seconds_of(step.ended - step.began)},
          {"waited_for", step.late_rank < 0 ? Json() : Json(step.late_rank)},
          {"longest_wait_seconds", seconds_of(step.waited)}};
}

}  // namespace

std::string traces_section(const JobEvidence& evidence) {
  const std::string files = files_table(evidence);
  if (files.empty() && evidence.traces.empty()) return {};
  std::string out = "<h2>Timelines of libfastgpu_comm</h2>\n";
  const TraceSummary summary = summary_of(evidence.traces);
  out += reading_notes(evidence, summary);
  if (!summary.operations.empty())
    out += operations_table(summary) + late_ranks_table(evidence, summary) +
           drawings(evidence, summary) + steps_table(summary);
  return out + files;
}

std::string_view traces_style() noexcept {
  return kTracesStyle;
}

Json traces_item(const JobEvidence& evidence) {
  const TraceSummary summary = summary_of(evidence.traces);
  Json out;
  for (const char* field : {"ranks", "operations", "waits", "steps"})
    out[field] = Json::array();
  for (const RankTrace& trace : evidence.traces)
    out["ranks"].push_back({{"rank", trace.rank},
                            {"node", trace.node},
                            {"bytes", trace.size},
                            {"bytes_read", trace.bytes_read},
                            {"events", trace.events.size()},
                            {"unread_lines", trace.unread_lines}});
  for (const OperationSummary& one : summary.operations)
    out["operations"].push_back({{"name", one.name},
                                 {"count", one.count},
                                 {"bytes", one.bytes},
                                 {"median_seconds", seconds_of(one.median)},
                                 {"longest_seconds", seconds_of(one.longest)},
                                 {"longest_rank", one.longest_rank},
                                 {"longest_step", one.longest_step}});
  for (const WaitSum& pair :
       std::span(summary.pairs).first(std::min(summary.pairs.size(), kMostWaitItems)))
    out["waits"].push_back({{"rank", pair.rank},
                            {"waited_for", pair.late_rank},
                            {"steps", pair.steps},
                            {"seconds", seconds_of(pair.total)},
                            {"longest_seconds", seconds_of(pair.longest)}});
  for (const StepSummary& step :
       std::span(summary.steps).last(std::min(summary.steps.size(), kMostStepItems)))
    out["steps"].push_back(step_item(step));
  out["left_out"] = evidence.traces_left_out;
  return out;
}

}  // namespace fastgpu::cli
