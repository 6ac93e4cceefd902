#include "cli/commands/job/report_page.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <ratio>
#include <set>
#include <utility>

#include "base/counted.hpp"
#include "base/quote.hpp"
#include "base/shown_line.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/commands/job/report_metrics.hpp"
#include "cli/commands/job/report_parts.hpp"
#include "cli/commands/job/report_span.hpp"
#include "cli/commands/job/report_traces.hpp"
#include "cli/commands/job/report_usage.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "cli/commands/show/job_views.hpp"
#include "cli/ui/html.hpp"
#include "launcher/job_times.hpp"
#include "launcher/process_names.hpp"
#include "launcher/users_command.hpp"
#include "state/model.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostBars = 256;
constexpr std::size_t kMostLogs = 64;

constexpr std::string_view kReportStyle =
    ":root{color-scheme:light dark;--page:#fff;--text:#1c1f24;--soft:#5d6673;--line:#d8dde4;"
    "--box:#f5f7f9;--good:#1a7f4b;--bad:#c0312b;--told:#8a94a3;--open:#2f6fc4}\n"
    "@media (prefers-color-scheme:dark){:root{--page:#15181d;--text:#e3e7ec;--soft:#98a2b0;"
    "--line:#343b45;--box:#1e232a;--good:#45b97c;--bad:#f0726b;--told:#7b8694;--open:#6aa5f0}}\n"
    "body{margin:0 auto;max-width:1280px;padding:16px;background:var(--page);color:var(--text);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.5em;margin:.2em 0;overflow-wrap:anywhere}h2{font-size:1.1em;margin:1.6em 0 "
    ".5em}\n"
    "code,pre,.mono{font-family:ui-monospace,monospace;font-size:.87em}\n"
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 16px;margin:8px 0}\n"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    ".state{display:inline-block;padding:1px 10px;border-radius:10px;border:1px solid;"
    "font-size:.8em}.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--open)}\n"
    ".reason{border-left:4px solid var(--bad);background:var(--box);padding:6px 12px;"
    "white-space:pre-wrap;overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse}th,td{text-align:left;padding:2px 14px "
    "2px 0;border-bottom:1px solid var(--line);white-space:nowrap}th{color:var(--soft);"
    "font-weight:500}\n"
    ".bars{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 10px;"
    "align-items:center}.bars .mono{white-space:nowrap}\n"
    ".track{height:14px;background:var(--box);border-radius:3px;position:relative}\n"
    ".bar{position:absolute;top:0;bottom:0;min-width:3px;border-radius:3px;background:var(--good)}"
    "\n"
    ".bar.bad{background:var(--bad)}.bar.told{background:var(--told)}.bar.open{background:var(--"
    "open)}"
    "\n.scale{display:flex;justify-content:space-between;color:var(--soft);font-size:.8em}\n"
    "details{border:1px solid var(--line);border-radius:5px;margin:6px 0}summary{cursor:pointer;"
    "padding:4px 10px}pre{margin:0;padding:8px 10px;background:var(--box);overflow-x:auto;"
    "max-height:28em}\n"
    "@media (max-width:600px){body{padding:10px;font-size:14px}dl{grid-template-columns:1fr}"
    "dd{margin-bottom:6px}}\n";

std::string html_element(std::string_view name, const std::string& text) {
  return "<" + std::string(name) + ">" + html_text(text) + "</" + std::string(name) + ">";
}

/// Returns text of several lines, each as a terminal shows it, without its colours, and escaped.
std::string html_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out += html_text(shown_line(text.substr(0, end))) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string_view class_of(state::JobState state) {
  if (state == state::JobState::succeeded) return "good";
  return launcher::has_ended(state::Job{.state = state}) ? "bad" : "open";
}

std::string_view class_of(const RankEvidence& rank) {
  if (!rank.has_ended) return "open";
  if (rank.was_told) return "told";
  return rank.exit_code == 0 ? "good" : "bad";
}

std::string outcome_text(const RankEvidence& rank) {
  if (!rank.has_ended) return "no end on record";
  return rank.outcome + (rank.out_of_memory ? " (out of memory)" : "") +
         (rank.was_told ? ", as ordered" : "");
}

std::string duration_word(std::int64_t nanoseconds) {
  return to_string(std::chrono::milliseconds(std::max<std::int64_t>(0, nanoseconds / 1'000'000)));
}

std::string rank_bar(const RankEvidence& rank, const ChartSpan& span) {
  const std::int64_t begin = rank.began != 0 ? rank.began : span.begin;
  const std::int64_t end = rank.ended != 0 ? rank.ended : span.end;
  const auto whole = static_cast<double>(span.end - span.begin);
  const double from = static_cast<double>(begin - span.begin) / whole;
  const double length = static_cast<double>(end - begin) / whole;
  const std::string title = "rank " + std::to_string(rank.rank) + " on " + rank.node + ": " +
                            outcome_text(rank) + ", " + duration_word(end - begin);
  return "<div class=\"track\"><div class=\"bar " + std::string(class_of(rank)) +
         "\" style=\"left:" + share_text(from) + ";width:" + share_text(length) + "\" title=\"" +
         html_text(title) + "\"></div></div>\n";
}

/// Returns the ranks to show, those that failed first if there are too many.
std::vector<const RankEvidence*> shown_ranks(const JobEvidence& evidence, std::size_t most) {
  std::vector<const RankEvidence*> ranks;
  for (const RankEvidence& rank : evidence.ranks)
    ranks.push_back(&rank);
  if (ranks.size() <= most) return ranks;
  std::ranges::stable_sort(ranks, {}, [](const RankEvidence* rank) {
    const bool has_failed = rank->has_ended && !rank->was_told && rank->exit_code != 0;
    return has_failed ? 0 : 1;
  });
  ranks.resize(most);
  std::ranges::sort(ranks, {}, [](const RankEvidence* rank) { return rank->rank; });
  return ranks;
}

std::string left_out_note(std::size_t all, std::size_t shown) {
  if (shown >= all) return {};
  return "<p>" + std::to_string(shown) + " of " + counted(all, "rank") +
         " are shown, those that failed among them.</p>\n";
}

std::string timeline(const JobEvidence& evidence, state::TimePoint now) {
  const ChartSpan span = span_of(evidence, now);
  const auto ranks = shown_ranks(evidence, kMostBars);
  std::string out = "<h2>Ranks</h2>\n<div class=\"bars\">\n";
  for (const RankEvidence* rank : ranks)
    out += "<div class=\"mono\">" + std::to_string(rank->rank) + "</div>" + rank_bar(*rank, span);
  out += "<div></div><div class=\"scale\"><span>" + html_text(utc_text_ms(span.begin)) +
         "</span><span>" + html_text(duration_word(span.end - span.begin)) +
         "</span></div>\n</div>\n";
  return out + left_out_note(evidence.ranks.size(), ranks.size());
}

std::string rank_table(const JobEvidence& evidence) {
  const auto ranks = shown_ranks(evidence, kMostBars);
  std::string out = "<div class=\"wide\"><table>\n" +
                    html_row("th", {"rank", "node", "outcome", "code", "began", "duration"});
  for (const RankEvidence* rank : ranks) {
    const bool is_timed = rank->began != 0 && rank->ended != 0;
    out += html_row("td", {std::to_string(rank->rank), rank->node, outcome_text(*rank),
                           rank->has_ended ? std::to_string(rank->exit_code) : "",
                           rank->began != 0 ? utc_text_ms(rank->began) : "",
                           is_timed ? duration_word(rank->ended - rank->began) : ""});
  }
  return out + "</table></div>\n";
}

std::string placement_table(const JobEvidence& evidence) {
  std::string out =
      "<h2>Placement</h2>\n<div class=\"wide\"><table>\n" + html_row("th", {"node", "ranks"});
  const std::vector<launcher::NodeRanks>& placement = evidence.record.placement;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const int workers = placement[i].workers;
    const std::string started = workers > 0 ? " (" + counted(workers, "worker") + ")" : "";
    out +=
        html_row("td", {placement[i].node.value, launcher::ranks_of_node(placement, i) + started});
  }
  return out + "</table></div>\n";
}

std::string log_section(const RankEvidence& rank) {
  if (rank.out.empty() && rank.err.empty()) return {};
  const bool is_bad = class_of(rank) == "bad";
  std::string out = std::string("<details") + (is_bad ? " open=\"open\"" : "") + "><summary>rank " +
                    std::to_string(rank.rank) + " on " + html_text(rank.node) + ", " +
                    html_text(outcome_text(rank)) + "</summary>\n";
  if (!rank.out.empty()) out += "<pre>" + html_lines(rank.out) + "</pre>\n";
  if (!rank.err.empty()) out += "<pre class=\"bad\">" + html_lines(rank.err) + "</pre>\n";
  return out + "</details>\n";
}

std::string log_sections(const JobEvidence& evidence) {
  std::string out;
  for (const RankEvidence* rank : shown_ranks(evidence, kMostLogs))
    out += log_section(*rank);
  if (!evidence.launcher_log.empty())
    out += "<details><summary>the launcher</summary>\n<pre>" + html_lines(evidence.launcher_log) +
           "</pre></details>\n";
  return out.empty() ? out : "<h2>Ends of the logs</h2>\n" + out;
}

/// Returns "4 ranks on 2 nodes", or "4 ranks on node[1-2]" where the engine has chosen the nodes.
std::string ranks_line(const launcher::JobRecord& record) {
  const std::string ranks = launcher::size_text(record.placement) + " on ";
  if (record.spec.engine == launcher::EngineKind::mpirun)
    return ranks + counted(record.placement.size(), "node");
  return ranks + record.placement.front().node.value;
}

/// Returns what the nodes of a job have cost while it ran; absent if their price is unknown. Nodes
/// cost as much while other jobs share them, and when they are idle.
std::optional<Money> cost_of(const JobEvidence& evidence, state::TimePoint now) {
  if (!evidence.price) return std::nullopt;
  std::set<std::string> nodes;
  for (const launcher::NodeRanks& node : evidence.record.placement)
    nodes.insert(node.node.value);
  const std::chrono::duration<double, std::ratio<3600>> hours =
      launcher::run_time_of(launcher::course_of(evidence.job), now);
  return *evidence.price * (hours.count() * static_cast<double>(nodes.size()));
}

/// Returns "0.35 USD, of nodes at 0.53 USD/h each"; empty if they cost nothing.
std::string cost_text(const JobEvidence& evidence, state::TimePoint now) {
  const auto cost = cost_of(evidence, now);
  if (!cost || evidence.price->amount == 0) return {};
  return to_string(*cost) + ", of nodes at " + to_string(*evidence.price) + "/h each";
}

/// Returns the properties of the job, as names and texts.
std::vector<std::pair<std::string, std::string>> properties_of(const JobEvidence& evidence,
                                                               state::TimePoint now) {
  const launcher::JobSpec& spec = evidence.record.spec;
  const auto& job = evidence.job;
  const auto started = state::recorded_start(job).started;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"cluster", evidence.cluster},
      {"command", shell_join(launcher::users_command(spec.argv))},
      {"environment", launcher::environment_in(spec.argv)},
      {launcher::is_of_torchrun(evidence.record.placement) ? "workers" : "ranks",
       ranks_line(evidence.record)},
      {"created", utc_text(job.created)},
      {"started", started ? utc_text(*started) : ""},
      {"ended", job.ended ? utc_text(*job.ended) : ""},
      {"duration",
       duration_word(
           std::chrono::nanoseconds(launcher::run_time_of(launcher::course_of(job), now)).count())},
      {"cost", cost_text(evidence, now)},
      {"exit code", job.exit_code ? std::to_string(*job.exit_code) : ""},
      {"cause", evidence.record.cause == launcher::JobEndCause::none
                    ? ""
                    : std::string(state::to_string(evidence.record.cause))},
      {"restarts", evidence.record.restarts > 0 ? std::to_string(evidence.record.restarts) : ""}};
  if (spec.array)
    for (const std::string& variable : spec.array->variables)
      if (variable.starts_with("FASTGPU_PARAMETERS="))
        rows.emplace_back("parameters", variable.substr(variable.find('=') + 1));
  std::erase_if(rows, [](const auto& one) { return one.second.empty(); });
  return rows;
}

Json rank_item(const RankEvidence& rank) {
  Json item;
  item["rank"] = rank.rank;
  item["node"] = rank.node;
  item["outcome"] = rank.has_ended ? Json(rank.outcome) : Json();
  item["exit_code"] = rank.has_ended ? Json(rank.exit_code) : Json();
  item["signal"] = rank.signal.empty() ? Json() : Json(rank.signal);
  item["out_of_memory"] = rank.out_of_memory;
  item["ordered_to_end"] = rank.was_told;
  item["began"] = rank.began != 0 ? Json(utc_text_ms(rank.began)) : Json();
  item["ended"] = rank.ended != 0 ? Json(utc_text_ms(rank.ended)) : Json();
  return item;
}

}  // namespace

std::string report_page(const JobEvidence& evidence, state::TimePoint now) {
  const state::Job& job = evidence.job;
  const std::string title = "Job " + job.id;
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n<title>" +
      html_text(title) + "</title>\n<style>\n" + std::string(kReportStyle) +
      std::string(usage_style()) + std::string(traces_style()) + "</style>\n</head>\n<body>\n<h1>" +
      html_text(title) + " <span class=\"state " + std::string(class_of(job.state)) + "\">" +
      html_text(std::string(state::to_string(job.state))) + "</span></h1>\n";
  if (!job.reason.empty()) out += "<p class=\"reason\">" + html_lines(job.reason) + "</p>\n";
  out += "<dl>\n";
  for (const auto& [name, text] : properties_of(evidence, now))
    out += html_element("dt", name) + html_element("dd", text) + "\n";
  out += "</dl>\n";
  for (const std::string& what : evidence.missing)
    out += "<p class=\"bad\">" + html_text("incomplete: " + what) + "</p>\n";
  const ChartSpan span = span_of(evidence, now);
  out += timeline(evidence, now) + rank_table(evidence) + placement_table(evidence) +
         metrics_section(evidence, span) + usage_sections(evidence, span) +
         traces_section(evidence) + log_sections(evidence);
  return out + "<p class=\"scale\">fastgpu " FASTGPU_VERSION ", " + html_text(utc_text(now)) +
         "; the times of ranks are those of their nodes</p>\n</body>\n</html>\n";
}

View report_view(const JobEvidence& evidence, state::TimePoint now) {
  View view;
  view.root = document("report");
  Json job = to_json(evidence.job);
  job["cluster"] = evidence.cluster;
  view.root["job"] = std::move(job);
  view.root["run"] = evidence.run;
  view.root["cost"] = money_json(cost_of(evidence, now));
  view.root["ranks"] = Json::array();
  view.root["missing"] = evidence.missing;
  view.root["metrics"] = metrics_items(evidence);
  add_usage_fields(view.root, evidence);
  view.root["traces"] = traces_item(evidence);
  view.table.columns = {{"RANK"}, {"NODE"}, {"CODE"}, {"DURATION"}, {"OUTCOME", false, Fit::prose}};
  for (const RankEvidence& rank : evidence.ranks) {
    view.root["ranks"].push_back(rank_item(rank));
    const bool is_timed = rank.began != 0 && rank.ended != 0;
    view.table.rows.push_back(
        {std::to_string(rank.rank), rank.node, rank.has_ended ? std::to_string(rank.exit_code) : "",
         is_timed ? duration_word(rank.ended - rank.began) : "", outcome_text(rank)});
    view.names.push_back(std::to_string(rank.rank));
  }
  view.page = report_page(evidence, now);
  return view;
}

}  // namespace fastgpu::cli
