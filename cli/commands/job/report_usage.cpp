#include "cli/commands/job/report_usage.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "base/outcome.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/commands/job/report_parts.hpp"
#include "cli/ui/html.hpp"

namespace fastgpu::cli {
namespace {

using launcher::GpuUsage;
using launcher::UsageSample;

constexpr std::size_t kMostChartNodes = 32;
constexpr std::size_t kMostChartPoints = 300;
constexpr std::size_t kMostLinks = 256;
constexpr double kChartWidth = 1'000;
constexpr double kChartHeight = 100;

constexpr std::string_view kUsageStyle =
    "h3{font-size:1em;margin:1em 0 .3em}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,260px),1fr));"
    "gap:8px 16px}\n"
    "figure{margin:0;min-width:0}figcaption{color:var(--soft);font-size:.8em;"
    "overflow-wrap:anywhere}\n"
    ".chart{display:block;width:100%;height:64px;background:var(--box);border-radius:3px}\n"
    ".chart polyline{fill:none;stroke:var(--open);stroke-width:1.5}.chart .sent{stroke:var(--good)}"
    "\n"
    ".sent-mark{color:var(--good)}.received-mark{color:var(--open)}\n";

/// A curve of a chart: a value of each sample.
struct UsageCurve {
  std::string_view css_class;
  std::function<double(const UsageSample&)> value;
};

struct UsageChart {
  std::string caption;  ///< Escaped, with marks of the curves.
  double top = 1;       ///< The value at the upper edge.
  std::vector<UsageCurve> curves;
};

/// Returns at most kMostChartPoints samples, averages of neighbours if there are more.
std::vector<UsageSample> samples_to_show(std::vector<UsageSample> samples) {
  while (samples.size() > kMostChartPoints)
    samples = launcher::halved(samples);
  return samples;
}

double count_of(Bytes bytes) {
  return static_cast<double>(bytes.count);
}

std::string chart_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string curve_points(const std::vector<UsageSample>& samples, const UsageCurve& curve,
                         double top, const ChartSpan& span) {
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, span.end - span.begin));
  std::string points;
  for (const UsageSample& sample : samples) {
    const auto half = std::chrono::duration_cast<std::chrono::nanoseconds>(sample.span).count() / 2;
    const double from_begin = static_cast<double>(sample.ended - half - span.begin) / whole;
    const double height = top > 0 ? curve.value(sample) / top : 0;
    points += chart_number(kChartWidth * std::clamp(from_begin, 0.0, 1.0)) + "," +
              chart_number(kChartHeight * (1 - std::clamp(height, 0.0, 1.0))) + " ";
  }
  return points;
}

std::string chart_figure(const UsageChart& chart, const std::vector<UsageSample>& samples,
                         const ChartSpan& span) {
  std::string out = "<figure><figcaption>" + chart.caption +
                    "</figcaption><svg class=\"chart\" viewBox=\"0 -2 1000 104\" "
                    "preserveAspectRatio=\"none\">";
  for (const UsageCurve& curve : chart.curves)
    out += "<polyline class=\"" + std::string(curve.css_class) +
           "\" vector-effect=\"non-scaling-stroke\" points=\"" +
           curve_points(samples, curve, chart.top, span) + "\"/>";
  return out + "</svg></figure>\n";
}

/// The mean, weighted by the time of each sample, and the maximum of a value.
struct Summary {
  double mean = 0;
  double most = 0;
};

template <class Value>
Summary summary_of(const std::vector<UsageSample>& samples, Value value) {
  Summary summary;
  double weight = 0;
  for (const UsageSample& sample : samples) {
    const auto span = static_cast<double>(std::max<std::int64_t>(1, sample.span.count()));
    summary.mean += value(sample) * span;
    weight += span;
    summary.most = std::max(summary.most, value(sample));
  }
  if (weight > 0) summary.mean /= weight;
  return summary;
}

Bytes whole_bytes(double count) {
  return {static_cast<std::uint64_t>(std::llround(std::max(0.0, count)))};
}

std::string percent_text(double share) {
  return std::to_string(std::lround(100 * share)) + "%";
}

double busy_of(const UsageSample& sample) {
  return sample.usage.busy;
}
double memory_of(const UsageSample& sample) {
  return count_of(sample.usage.memory_used);
}
double received_of(const UsageSample& sample) {
  return count_of(sample.usage.received_each_second);
}
double sent_of(const UsageSample& sample) {
  return count_of(sample.usage.sent_each_second);
}

/// Returns the mean use of the GPUs of a node, 0 to 1.
double gpus_of(const UsageSample& sample) {
  double sum = 0;
  for (const GpuUsage& gpu : sample.usage.gpus)
    sum += gpu.percent.value_or(0);
  return sample.usage.gpus.empty() ? 0 : sum / 100 / static_cast<double>(sample.usage.gpus.size());
}
double gpu_memory_of(const UsageSample& sample) {
  double sum = 0;
  for (const GpuUsage& gpu : sample.usage.gpus)
    sum += count_of(gpu.memory_used);
  return sum;
}

std::vector<UsageChart> charts_of(const std::vector<UsageSample>& samples) {
  const Summary busy = summary_of(samples, busy_of);
  const Summary memory = summary_of(samples, memory_of);
  const Summary received = summary_of(samples, received_of);
  const Summary sent = summary_of(samples, sent_of);
  const Bytes installed = samples.back().usage.memory;
  const auto rates = [](const Summary& rate) {
    return to_string(whole_bytes(rate.mean)) + "/s, most " + to_string(whole_bytes(rate.most)) +
           "/s";
  };
  std::vector<UsageChart> charts = {
      {.caption = "CPU " + percent_text(busy.mean) + ", most " + percent_text(busy.most),
       .top = 1,
       .curves = {{"cpu", busy_of}}},
      {.caption = "memory " + to_string(whole_bytes(memory.mean)) + ", most " +
                  to_string(whole_bytes(memory.most)) + " of " + to_string(installed),
       .top = count_of(installed),
       .curves = {{"memory", memory_of}}},
      {.caption = "<span class=\"received-mark\">received</span> " + rates(received) +
                  "; <span class=\"sent-mark\">sent</span> " + rates(sent),
       .top = std::max(received.most, sent.most),
       .curves = {{"received", received_of}, {"sent", sent_of}}}};
  const auto& gpus = samples.back().usage.gpus;
  if (gpus.empty()) return charts;
  double gpu_memory = 0;
  for (const GpuUsage& gpu : gpus)
    gpu_memory += count_of(gpu.memory);
  const Summary busy_gpus = summary_of(samples, gpus_of);
  const Summary used = summary_of(samples, gpu_memory_of);
  charts.push_back({.caption = counted(gpus.size(), "GPU") + " " + percent_text(busy_gpus.mean) +
                               ", most " + percent_text(busy_gpus.most),
                    .top = 1,
                    .curves = {{"gpus", gpus_of}}});
  charts.push_back({.caption = "GPU memory " + to_string(whole_bytes(used.mean)) + ", most " +
                               to_string(whole_bytes(used.most)) + " of " +
                               to_string(whole_bytes(gpu_memory)),
                    .top = gpu_memory,
                    .curves = {{"gpu-memory", gpu_memory_of}}});
  return charts;
}

std::string node_charts(const UsageEvidence& node, const ChartSpan& span) {
  const auto samples = samples_to_show(node.usage.samples);
  std::string out = "<h3 class=\"mono\">" + html_text(node.node) + "</h3>\n";
  if (samples.empty()) return out + "<p class=\"scale\">no samples: the job was too short</p>\n";
  out += "<div class=\"charts\">\n";
  for (const UsageChart& chart : charts_of(samples))
    out += chart_figure(chart, samples, span);
  return out + "</div>\n";
}

std::string usage_section(const JobEvidence& evidence, const ChartSpan& span) {
  const auto has_samples = [](const UsageEvidence& node) { return !node.usage.samples.empty(); };
  if (std::ranges::none_of(evidence.usage, has_samples)) return {};
  std::string out = "<h2>Nodes</h2>\n";
  const std::size_t shown = std::min(evidence.usage.size(), kMostChartNodes);
  for (std::size_t i = 0; i < shown; ++i)
    out += node_charts(evidence.usage[i], span);
  if (shown < evidence.usage.size())
    out += "<p>" + std::to_string(shown) + " of " + counted(evidence.usage.size(), "node") +
           " are shown.</p>\n";
  return out +
         "<p class=\"scale\">from the start of the first rank to the end of the last; all "
         "processes of the nodes count</p>\n";
}

/// The values of one counter on all ranks.
struct CounterValues {
  double sum = 0;
  double least = 0;
  double most = 0;
  std::size_t ranks = 0;

  void add(double value) {
    sum += value;
    least = ranks == 0 ? value : std::min(least, value);
    most = ranks == 0 ? value : std::max(most, value);
    ++ranks;
  }
};

/// Returns the sum of a counter, which has one value, or one a lane.
double total_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  double sum = 0;
  if (value.is_array())
    for (const Json& one : value)
      sum += one.is_number() ? one.get<double>() : 0;
  return sum;
}

/// Returns what a rank has written as an object; an empty one for another file.
Json comm_file(const launcher::JobUsage::Counters& one) {
  const auto file = attempt([&] { return parse_json<Json>(one.json, "the counters of a rank"); });
  return file.ok() && file.value().is_object() ? file.value() : Json::object();
}

/// Returns the counters in the file of a rank, an object.
Json counters_in(const Json& file) {
  const Json counters = file.value("counters", Json::object());
  return counters.is_object() ? counters : Json::object();
}

/// Returns the networks in the file of a rank, objects in a list.
Json links_in(const Json& file) {
  const Json links = file.value("links", Json::array());
  const bool are_objects = links.is_array() && std::ranges::all_of(links, [](const Json& link) {
                             return link.is_object();
                           });
  return are_objects ? links : Json::array();
}

std::string counter_text(const std::string& name, double value) {
  if (name.ends_with("bytes") || name.starts_with("bytes")) return to_string(whole_bytes(value));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::string(text.data()) + (name.ends_with("seconds") ? " s" : "");
}

using NamedCounters = std::vector<std::pair<std::string, CounterValues>>;

CounterValues& values_of(NamedCounters& counters, const std::string& name) {
  for (auto& [known, values] : counters)
    if (known == name) return values;
  return counters.emplace_back(name, CounterValues()).second;
}

std::string counters_section(const JobEvidence& evidence) {
  NamedCounters counters;  // In the order of the library.
  for (const UsageEvidence& node : evidence.usage)
    for (const auto& one : node.usage.counters) {
      const Json values = counters_in(comm_file(one));
      for (const auto& [name, value] : values.items()) {
        values_of(counters, name).add(total_of(value));
      }
    }
  if (counters.empty()) return {};
  std::string out = "<h2>Counters of libfastgpu_comm</h2>\n<div class=\"wide\"><table>\n" +
                    html_row("th", {"counter", "ranks", "all ranks", "least", "most"});
  for (const auto& [name, values] : counters)
    out += html_row("td", {name, std::to_string(values.ranks), counter_text(name, values.sum),
                           counter_text(name, values.least), counter_text(name, values.most)});
  return out + "</table></div>\n";
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return found->is_string() ? found->get<std::string>() : counter_text(key, total_of(*found));
}

std::string links_section(const JobEvidence& evidence) {
  std::string rows;
  std::size_t count = 0;
  for (const UsageEvidence& node : evidence.usage)
    for (const auto& one : node.usage.counters)
      for (const Json& link : links_in(comm_file(one)))
        if (++count <= kMostLinks)
          rows += html_row("td", {std::to_string(one.rank), node.node, text_in(link, "name"),
                                  text_in(link, "bytes_sent"), text_in(link, "bytes_received"),
                                  text_in(link, "failures"), text_in(link, "reconnects")});
  if (count == 0) return {};
  std::string out =
      "<h2>Networks of libfastgpu_comm</h2>\n<div class=\"wide\"><table>\n" +
      html_row("th", {"rank", "node", "network", "sent", "received", "failures", "reconnects"}) +
      rows + "</table></div>\n";
  if (count > kMostLinks)
    out += "<p>" + std::to_string(kMostLinks) + " of " + std::to_string(count) +
           " rows are shown.</p>\n";
  return out;
}

Json sample_fields(const UsageSample& sample) {
  Json out;
  out["ended"] = utc_text_ms(sample.ended);
  out["seconds"] = static_cast<double>(sample.span.count()) / 1'000;
  out["busy_percent"] = std::round(1'000 * sample.usage.busy) / 10;
  out["memory_used_bytes"] = sample.usage.memory_used.count;
  out["memory_bytes"] = sample.usage.memory.count;
  out["received_bytes_per_second"] = sample.usage.received_each_second.count;
  out["sent_bytes_per_second"] = sample.usage.sent_each_second.count;
  out["gpus"] = Json::array();
  for (const GpuUsage& gpu : sample.usage.gpus)
    out["gpus"].push_back({{"index", gpu.index},
                           {"busy_percent", gpu.percent ? Json(*gpu.percent) : Json()},
                           {"memory_used_bytes", gpu.memory_used.count},
                           {"memory_bytes", gpu.memory.count}});
  return out;
}

}  // namespace

std::string usage_sections(const JobEvidence& evidence, const ChartSpan& span) {
  return usage_section(evidence, span) + counters_section(evidence) + links_section(evidence);
}

std::string_view usage_style() noexcept {
  return kUsageStyle;
}

void add_usage_fields(Json& root, const JobEvidence& evidence) {
  for (const char* field : {"usage", "counters", "timelines"})
    root[field] = Json::array();
  for (const UsageEvidence& node : evidence.usage) {
    Json samples = Json::array();
    for (const UsageSample& sample : samples_to_show(node.usage.samples))
      samples.push_back(sample_fields(sample));
    root["usage"].push_back({{"node", node.node}, {"samples", std::move(samples)}});
    for (const auto& one : node.usage.counters) {
      const Json file = comm_file(one);
      root["counters"].push_back({{"rank", one.rank},
                                  {"node", node.node},
                                  {"counters", counters_in(file)},
                                  {"links", links_in(file)}});
    }
    for (const auto& one : node.usage.timelines)
      root["timelines"].push_back(
          {{"rank", one.rank}, {"node", node.node}, {"path", one.path}, {"bytes", one.size}});
  }
}

}  // namespace fastgpu::cli
