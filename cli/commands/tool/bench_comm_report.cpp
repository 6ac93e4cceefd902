#include "cli/commands/tool/bench_comm_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/json.hpp"
#include "base/split.hpp"
#include "cli/commands/tool/codec_gain.hpp"
#include "cli/ui/html.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

using comm::bench::BenchResult;

std::string number(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// Returns `value` with about four significant digits, and three decimals at most.
std::string figure(double value) {
  return number(value >= 1000  ? "%.0f"
                : value >= 100 ? "%.1f"
                : value >= 10  ? "%.2f"
                               : "%.3f",
                value);
}

std::string gigabytes(double bytes_per_second) {
  return figure(bytes_per_second / 1e9);
}

bool is_of_model(const BenchResult& result) noexcept {
  return result.step.has_value();
}

/// Returns the bytes of one element; 1 for an unknown type.
std::uint64_t element_bytes(const std::string& dtype) {
  const auto type = comm::bench::find_type(dtype);
  return type ? comm::size_of(*type) : 1;
}

std::string operation(const BenchResult& result) {
  const auto collective = comm::bench::find_collective(result.collective);
  return collective && comm::bench::is_reduction(*collective) ? "sum" : "none";
}

/// Aligns the columns from `first` on to the right.
Table right_aligned(Table table, std::size_t first) {
  for (std::size_t i = first; i < table.columns.size(); ++i) {
    std::size_t width = display_width(table.columns[i].title);
    for (const auto& row : table.rows)
      width = std::max(width, display_width(row[i].text));
    const auto pad = [width](std::string& text) {
      text.insert(0, width - display_width(text), ' ');
    };
    pad(table.columns[i].title);
    for (auto& row : table.rows)
      pad(row[i].text);
  }
  return table;
}

bool has_transports(const std::vector<BenchResult>& results) {
  return std::ranges::any_of(results,
                             [](const BenchResult& result) { return !result.transport.empty(); });
}

/// Adds a column in front with the transport of each result that `is_shown` picks.
template <class IsShown>
void add_transports(Table& table, const std::vector<BenchResult>& results, IsShown is_shown) {
  if (!has_transports(results)) return;
  table.columns.insert(table.columns.begin(), Column{"TRANSPORT"});
  auto row = table.rows.begin();
  for (const BenchResult& result : results)
    if (is_shown(result)) {
      row->insert(row->begin(), result.transport);
      ++row;
    }
}

Table table_of_collectives(const std::vector<BenchResult>& results) {
  Table table;
  table.columns = {{"LIBRARY", true}, {"COLLECTIVE"}, {"TYPE"},  {"REDOP"},
                   {"RANKS", true},   {"SIZE(B)"},    {"COUNT"}, {"TIME(us)"},
                   {"ALGBW(GB/s)"},   {"BUSBW(GB/s)"}};
  for (const BenchResult& result : results)
    if (!is_of_model(result))
      table.rows.push_back({result.library, result.collective, result.dtype, operation(result),
                            std::to_string(result.ranks), std::to_string(result.bytes.count),
                            std::to_string(result.bytes.count / element_bytes(result.dtype)),
                            figure(result.seconds * 1e6), gigabytes(result.algbw),
                            gigabytes(result.busbw)});
  add_transports(table, results, [](const BenchResult& result) { return !is_of_model(result); });
  return right_aligned(std::move(table), has_transports(results) ? 5 : 4);
}

Table table_of_models(const std::vector<BenchResult>& results) {
  Table table;
  table.columns = {{"LIBRARY", true}, {"MODEL"},    {"RANKS", true}, {"SIZE(B)"},
                   {"GRADIENTS"},     {"BUCKETS"},  {"STEPS"},       {"NEGOTIATION(B)", true},
                   {"TIME(ms)"},      {"BEST(ms)"}, {"ALGBW(GB/s)"}, {"BUSBW(GB/s)"}};
  for (const BenchResult& result : results) {
    if (!is_of_model(result) || !result.codec.empty()) continue;
    const auto& step = *result.step;
    const double best =
        step.seconds.empty() ? result.seconds : *std::ranges::min_element(step.seconds);
    table.rows.push_back({result.library, step.model, std::to_string(result.ranks),
                          std::to_string(result.bytes.count), std::to_string(step.gradients),
                          std::to_string(step.buckets), std::to_string(step.seconds.size()),
                          number("%.0f", step.negotiation_bytes), figure(result.seconds * 1e3),
                          figure(best * 1e3), gigabytes(result.algbw), gigabytes(result.busbw)});
  }
  add_transports(table, results, [](const BenchResult& result) {
    return is_of_model(result) && result.codec.empty();
  });
  return right_aligned(std::move(table), has_transports(results) ? 3 : 2);
}

std::string bits_per_second(double bytes_per_second) {
  const double bits = 8 * bytes_per_second;
  return bits >= 1e9 ? figure(bits / 1e9) + " Gbit/s" : figure(bits / 1e6) + " Mbit/s";
}

/// Returns the speed of links below which a codec shortens steps.
std::string pays_text(const CodecGain& gain) {
  if (!gain.pays_below) return "-";
  if (std::isinf(*gain.pays_below)) return "any link";
  return *gain.pays_below == 0 ? "never" : bits_per_second(*gain.pays_below);
}

Table table_of_codecs(const std::vector<BenchResult>& results) {
  Table table;
  table.columns = {{"CODEC"},    {"MODEL", true}, {"RANKS", true}, {"SENT(B)"},
                   {"TIME(ms)"}, {"SPEED-UP"},    {"PAYS BELOW"}};
  for (const CodecGain& gain : codec_gains(results)) {
    const BenchResult& result = results[gain.result];
    table.rows.push_back({result.codec, result.step->model, std::to_string(result.ranks),
                          number("%.0f", result.network_bytes.value_or(0)),
                          figure(result.seconds * 1e3),
                          gain.speed_up ? figure(*gain.speed_up) : "-", pays_text(gain)});
  }
  const auto has_codec = [](const BenchResult& result) { return !result.codec.empty(); };
  add_transports(table, results, has_codec);
  return right_aligned(std::move(table), has_transports(results) ? 2 : 1);
}

/// Returns what the table of codecs does not show; empty without codecs.
std::vector<std::string> notes_on_codecs(const std::vector<BenchResult>& results) {
  std::vector<std::string> lines;
  if (std::ranges::none_of(results, [](const auto& result) { return !result.codec.empty(); }))
    return lines;
  for (const BenchResult& result : results) {
    if (result.step || !result.network_bytes) continue;
    const auto speed = link_speed(results, result.transport);
    lines.push_back((result.transport.empty() ? "network" : result.transport) + ": " +
                    (speed ? bits_per_second(*speed) + " sent by the busiest node in an all-reduce"
                           : std::string("none was used: all ranks are on one node")));
  }
  lines.emplace_back(
      "codecs other than 'same' change the sums of gradients: a model may need more steps");
  return lines;
}

std::string name_of(const BenchResult& result) {
  return result.collective + " " + (is_of_model(result) ? result.step->model : result.dtype) +
         (result.codec.empty() ? "" : " " + result.codec) +
         (result.transport.empty() ? "" : " by " + result.transport);
}

/// The results of one library, collective, type and transport, in their order.
struct ResultGroup {
  std::string name;
  std::vector<const BenchResult*> results;
};

std::vector<ResultGroup> groups_of(const std::vector<BenchResult>& results) {
  std::vector<ResultGroup> groups;
  for (const BenchResult& result : results) {
    if (is_of_model(result)) continue;
    const std::string name = name_of(result);
    auto found = std::ranges::find(groups, name, &ResultGroup::name);
    if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
    found->results.push_back(&result);
  }
  return groups;
}

std::vector<std::string> averages(const std::vector<BenchResult>& results) {
  std::vector<std::string> lines;
  for (const ResultGroup& group : groups_of(results)) {
    double sum = 0;
    for (const BenchResult* result : group.results)
      sum += result->busbw;
    if (sum > 0)
      lines.push_back("average bus bandwidth of " + group.name + ": " +
                      gigabytes(sum / static_cast<double>(group.results.size())) + " GB/s");
  }
  return lines;
}

bool is_numeric(const Table& table, std::size_t column) {
  return std::ranges::all_of(table.rows, [&](const auto& row) {
    return row[column].text.find_first_not_of("0123456789. ") == std::string::npos;
  });
}

/// Returns true if the column has the same text in every row and no measured figures.
bool is_constant(const Table& table, std::size_t column) {
  const std::string& title = table.columns[column].title;
  if (table.rows.size() < 2 || title.find('(') != std::string::npos) return false;
  return std::ranges::all_of(table.rows, [&](const auto& row) {
    return row[column].text == table.rows.front()[column].text;
  });
}

/// Returns the table as HTML. Columns that are the same in all rows become a sentence above it.
std::string html_table(const Table& table) {
  if (table.rows.empty()) return "";
  std::string same;
  std::string head;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string title(trimmed(table.columns[i].title));
    if (is_constant(table, i)) {
      append_item(same, title + " " + std::string(trimmed(table.rows.front()[i].text)));
      continue;
    }
    shown.push_back(i);
    head += (is_numeric(table, i) ? "<th class=\"n\">" : "<th>") + html_text(title) + "</th>";
  }
  std::string out = same.empty() ? "" : "<p>In all rows: " + html_text(same) + ".</p>\n";
  out += "<div class=\"wide\"><table>\n<thead><tr>" + head + "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::size_t i : shown)
      out += (is_numeric(table, i) ? "<td class=\"n\">" : "<td>") +
             html_text(trimmed(row[i].text)) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

/// Returns `value` with three significant digits and without an exponent.
std::string plain(double value) {
  std::string text = value >= 100 ? number("%.0f", value) : number("%.3g", value);
  if (text.find('e') == std::string::npos) return text;
  text = number("%.9f", value);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::string bytes_text(double bytes) {
  return exact_size({static_cast<std::uint64_t>(bytes)});
}

Plot plot_of(const std::vector<BenchResult>& results, double (*value)(const BenchResult&)) {
  Plot plot;
  plot.x_text = bytes_text;
  plot.x_label = "size of the message";
  for (const ResultGroup& group : groups_of(results)) {
    plot.curves.push_back({group.name, {}});
    for (const BenchResult* result : group.results)
      plot.curves.back().points.push_back(
          {static_cast<double>(result->bytes.count), value(*result)});
  }
  return plot;
}

std::string figures(const std::vector<BenchResult>& results) {
  Plot bandwidth = plot_of(results, [](const BenchResult& result) { return result.busbw / 1e9; });
  bandwidth.title = "Bus bandwidth (higher is better)";
  bandwidth.y_label = "GB/s";
  bandwidth.y_text = plain;
  Plot latency = plot_of(results, [](const BenchResult& result) { return result.seconds * 1e6; });
  latency.title = "Time of a call (lower is better)";
  latency.y_label = "microseconds";
  latency.y_text = plain;
  return plot_figure(bandwidth) + plot_figure(latency);
}

constexpr std::string_view kPageStyle =
    "body{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;"
    "max-width:60em;margin:2em auto;padding:0 1em}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}\n"
    "th,td{padding:.2em .8em;text-align:left;border-bottom:1px solid var(--rule);"
    "white-space:nowrap}\n.n{text-align:right}\n";

}  // namespace

std::string exact_size(Bytes bytes) {
  constexpr std::array<const char*, 5> kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  std::uint64_t count = bytes.count;
  while (count >= 1024 && count % 1024 == 0 && unit + 1 < kUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return std::to_string(count) + kUnits[unit];
}

View view_of(const BenchReport& report) {
  View view;
  view.root = document("bench-comm");
  view.root["cluster"] = report.cluster;
  view.root["job"] = report.job;
  if (!report.jobs.empty()) view.root["jobs"] = report.jobs;
  view.root["results"] = Json::array();
  for (const BenchResult& result : report.results) {
    view.root["results"].push_back(parse_json<Json>(comm::bench::to_json(result), "a result"));
    const std::string name = name_of(result);
    if (!contains(view.names, name)) view.names.push_back(name);
  }
  for (const CodecGain& gain : codec_gains(report.results)) {
    Json& result = view.root["results"][gain.result];
    if (gain.speed_up) result["speed_up"] = *gain.speed_up;
    if (!gain.pays_below) continue;
    const bool pays_always = std::isinf(*gain.pays_below);
    result["pays_on_any_link"] = pays_always;
    if (!pays_always) result["pays_below_bits_per_second"] = 8 * *gain.pays_below;
  }
  view.page = page_of(report);
  return view;
}

Styled text_of(const BenchReport& report, Detail detail, const Terminal& terminal) {
  const Table collectives = table_of_collectives(report.results);
  const Table models = table_of_models(report.results);
  Styled out;
  if (!collectives.rows.empty()) out += print_table(collectives, detail, terminal).text;
  for (const std::string& line : averages(report.results))
    out += line + "\n";
  if (!models.rows.empty()) {
    if (!out.empty()) out += "\n";
    out += print_table(models, detail, terminal).text;
  }
  const Table codecs = table_of_codecs(report.results);
  if (codecs.rows.empty()) return out;
  out += "\n";
  out += print_table(codecs, detail, terminal).text;
  for (const std::string& line : notes_on_codecs(report.results))
    out += line + "\n";
  return out;
}

std::string page_of(const BenchReport& report) {
  const std::string title = "Communication on " + report.cluster;
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n<title>" +
      html_text(title) + "</title>\n<style>\n" + std::string(kPageStyle) +
      std::string(plot_style()) + "</style>\n</head>\n<body>\n<h1>" + html_text(title) + "</h1>\n";
  if (!report.results.empty())
    out += "<p>" + html_text(report.results.front().library) + ", " +
           counted(report.results.front().ranks, "rank") + ", job " + html_text(report.job) +
           ". The slowest rank, the median of several batches; bandwidths as nccl-tests define "
           "them.</p>\n";
  if (!report.command.empty())
    out += "<p>fastgpu " FASTGPU_VERSION ", " + html_text(report.when) + ": <code>" +
           html_text(report.command) + "</code></p>\n";
  out += figures(report.results);
  out += html_table(table_of_collectives(report.results));
  for (const std::string& line : averages(report.results))
    out += "<p>" + html_text(line) + "</p>\n";
  out += html_table(table_of_models(report.results)) + html_table(table_of_codecs(report.results));
  for (const std::string& line : notes_on_codecs(report.results))
    out += "<p>" + html_text(line) + "</p>\n";
  return out + "</body>\n</html>\n";
}

}  // namespace fastgpu::cli
