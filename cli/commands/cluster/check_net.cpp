// check net: measures the connections between nodes, pair by pair and all at once.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>

#include "base/counted.hpp"
#include "cli/commands/cluster/check_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/commands/tool/bench_comm_job.hpp"
#include "cli/workflows/cluster_checks.hpp"
#include "launcher/checks/rdma_use.hpp"

namespace fastgpu::cli {
namespace {

using launcher::Finding;
using launcher::Pair;
using launcher::Severity;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds kSlot = 500ms;
constexpr milliseconds kUsualTime = 60s;
constexpr milliseconds kAllReduceTimeout = 60s;
constexpr Bytes kLargeExchange{32UL << 20U};
/// The largest number of nodes whose pairs are shown as a matrix; more are shown as a list.
constexpr std::size_t kMostInMatrix = 12;

struct CheckNetOptions {
  std::string target;
  std::optional<milliseconds> time;
  bool allow_tcp = false;
};

/// The all-reduce of all nodes, one rank a node.
struct AllReduce {
  int ranks = 0;
  double small_seconds = 0;  ///< The time of one with 8 bytes.
  double bus_bandwidth = 0;  ///< Bytes per second, of one with kLargeExchange.
};

struct NetReport {
  std::string cluster;
  std::vector<launcher::LinkNode> nodes;
  std::vector<Pair> pairs;
  int measured_rounds = 0;
  int all_rounds = 0;
  std::optional<AllReduce> all_reduce{};
  std::optional<launcher::RdmaUse> rdma{};
  std::vector<Finding> findings;
};

std::string decimal(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string gigabits_text(std::int64_t bytes_per_second) {
  const double gigabits = static_cast<double>(bytes_per_second) * 8 / 1e9;
  return decimal(gigabits < 1 ? "%.3f" : "%.2f", gigabits);
}

double microseconds_of(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

/// Returns the bandwidth from one node to another as a cell, coloured by its part of the best one.
Cell rate_cell(const NetReport& report, const NodeName& from, const NodeName& to) {
  if (from == to) return "-";
  std::int64_t best = 0, rate = 0;
  bool has_failed = false;
  for (const Pair& pair : report.pairs) {
    best = std::max({best, pair.forward, pair.backward});
    if (pair.from == from && pair.to == to) rate = pair.forward;
    if (pair.from == to && pair.to == from) rate = pair.backward;
    const bool is_this =
        (pair.from == from && pair.to == to) || (pair.from == to && pair.to == from);
    has_failed = has_failed || (is_this && !pair.failure.empty());
  }
  if (has_failed) return {"failed", Color::red};
  if (rate == 0) return "?";
  const Color color = rate * 2 < best        ? Color::red
                      : rate * 10 < best * 8 ? Color::yellow
                                             : Color::green;
  return {gigabits_text(rate), color};
}

Table matrix_of(const NetReport& report) {
  Table table;
  table.columns = {{"FROM \\ TO (Gbit/s)"}};
  for (const launcher::LinkNode& node : report.nodes)
    table.columns.push_back({node.name.value});
  for (const launcher::LinkNode& from : report.nodes) {
    table.rows.push_back({from.name.value});
    for (const launcher::LinkNode& to : report.nodes)
      table.rows.back().push_back(rate_cell(report, from.name, to.name));
  }
  return table;
}

Table list_of(const NetReport& report) {
  Table table;
  table.columns = {{"FROM"}, {"TO"}, {"ROUND TRIP(us)"}, {"FORWARD(Gbit/s)"}, {"BACKWARD(Gbit/s)"}};
  for (const Pair& pair : report.pairs)
    table.rows.push_back({pair.from.value, pair.to.value,
                          pair.failure.empty()
                              ? Cell(decimal("%.1f", microseconds_of(pair.round_trip)))
                              : Cell("failed", Color::red),
                          pair.forward > 0 ? gigabits_text(pair.forward) : "?",
                          pair.backward > 0 ? gigabits_text(pair.backward) : "?"});
  return table;
}

Json rate_json(std::int64_t rate) {
  return rate > 0 ? Json(rate) : Json(nullptr);
}

Json figure_json(double figure) {
  return figure > 0 ? Json(figure) : Json(nullptr);
}

View view_of_net(const NetReport& report) {
  View view;
  view.root = document("check-net");
  view.root["cluster"] = report.cluster;
  view.root["result"] = worst_of(report.findings);
  view.root["rounds"] = {{"measured", report.measured_rounds}, {"all", report.all_rounds}};
  view.root["pairs"] = Json::array();
  for (const Pair& pair : report.pairs) {
    const bool is_good = pair.failure.empty();
    view.root["pairs"].push_back(
        {{"from", pair.from.value},
         {"to", pair.to.value},
         {"error", is_good ? Json(nullptr) : Json(pair.failure)},
         {"round_trip_us", is_good ? Json(microseconds_of(pair.round_trip)) : Json(nullptr)},
         {"forward_bytes_per_second", rate_json(pair.forward)},
         {"backward_bytes_per_second", rate_json(pair.backward)}});
    view.names.push_back(pair.from.value + " " + pair.to.value);
  }
  view.root["all_reduce"] = nullptr;
  if (report.all_reduce) {
    view.root["all_reduce"] = {{"ranks", report.all_reduce->ranks},
                               {"small_us", report.all_reduce->small_seconds * 1e6},
                               {"bytes", kLargeExchange.count},
                               {"bus_bytes_per_second", report.all_reduce->bus_bandwidth}};
  }
  view.root["rdma"] = nullptr;
  if (report.rdma)
    view.root["rdma"] = {{"active_ports", report.rdma->active},
                         {"used_ports", report.rdma->used},
                         {"node_bytes_per_second", figure_json(report.rdma->rate)},
                         {"node_speed_bytes_per_second", figure_json(report.rdma->speed)}};
  view.root["findings"] = json_of_findings(report.findings);
  return view;
}

/// Runs the measuring program of libfastgpu_comm with one rank a node.
AllReduce measure_all_reduce(Context& context, const RemoteTarget& target, BenchLinkage linkage) {
  launcher::JobSpec spec;
  spec.name = parse_job_name("check-net");
  spec.argv = {BenchFiles::program(), "--collective=all_reduce",
               "--sizes=8," + std::to_string(kLargeExchange.count), "--repetitions=3"};
  spec.per_node = 1;
  spec.launcher = launcher::Launcher::plain;
  spec.sharing = launcher::Sharing::shared;
  spec.timeout = kAllReduceTimeout;
  launcher::validate(spec);
  const BenchFiles files(context.state_directory(), "", linkage);
  spec.sync = files.directory().string();
  StartedJob started = start_job(context, target, placed_on(context, target, spec));
  BenchOutput output(context);
  const auto job = follow_to_end(context, *started.engine, started.open,
                                 {.on_cancel = launcher::OnCancel::stop_job}, output);
  if (!job || job->state != state::JobState::succeeded)
    throw job ? failure_of(*job) : Error(ErrorKind::local, "the reader of the output is gone");
  AllReduce measured;
  for (const auto& result : output.results()) {
    measured.ranks = result.ranks;
    if (result.bytes < kLargeExchange)
      measured.small_seconds = result.seconds;
    else
      measured.bus_bandwidth = result.busbw;
  }
  return measured;
}

void add_all_reduce(Context& context, const RemoteTarget& target,
                    const std::vector<launcher::ClusterNode>& nodes,
                    const std::vector<launcher::CheckedNode>& before,
                    const CheckNetOptions& options, NetReport& report) {
  context.ui().progress("measuring an all-reduce of all nodes");
  const bool has_rdma = std::ranges::any_of(before, [](const launcher::CheckedNode& node) {
    return node.state.ok() && !node.state.value().rdma.empty();
  });
  try {
    report.all_reduce = measure_all_reduce(
        context, target, has_rdma ? BenchLinkage::with_fabric : BenchLinkage::without_plugins);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    report.findings.push_back({.check = "all-reduce",
                               .severity = Severity::error,
                               .nodes = {},
                               .found = e.what(),
                               .why = "jobs exchange gradients by it",
                               .remedy = "fastgpu logs check-net shows the output of the ranks"});
    return;
  }
  if (!has_rdma) return;
  const auto after = launcher::check_nodes(context.ssh(), nodes, context.agent(), context.cancel());
  report.rdma = launcher::rdma_use(
      before, after, {.size = kLargeExchange, .rate = report.all_reduce->bus_bandwidth});
  const Severity severity = options.allow_tcp ? Severity::warning : Severity::error;
  if (auto finding = launcher::tcp_finding(*report.rdma, static_cast<int>(before.size()), severity))
    report.findings.push_back(std::move(*finding));
}

void show_net(Context& context, const NetReport& report) {
  Ui& ui = context.ui();
  ui.end_progress();
  View view = view_of_net(report);
  view.table = ui.format() != Format::wide && report.nodes.size() <= kMostInMatrix
                   ? matrix_of(report)
                   : list_of(report);
  ui.show(view);
  if (!ui.for_people()) return;
  std::vector<std::chrono::nanoseconds> trips;
  for (const Pair& pair : report.pairs)
    if (pair.failure.empty()) trips.push_back(pair.round_trip);
  std::ranges::sort(trips);
  if (!trips.empty())
    ui.data("round trips: " + decimal("%.1f", microseconds_of(trips.front())) + " to " +
            decimal("%.1f", microseconds_of(trips.back())) + " us, median " +
            decimal("%.1f", microseconds_of(trips[trips.size() / 2])) + " us\n");
  if (report.all_reduce)
    ui.data("all-reduce of " + counted(report.all_reduce->ranks, "rank") + ": " +
            decimal("%.1f", report.all_reduce->small_seconds * 1e6) + " us for 8 bytes, " +
            gigabits_text(static_cast<std::int64_t>(report.all_reduce->bus_bandwidth)) +
            " Gbit/s of bus bandwidth for " + to_string(kLargeExchange) + "\n");
  if (report.rdma) ui.data("RDMA: " + launcher::in_words(*report.rdma) + "\n");
  if (report.measured_rounds < report.all_rounds)
    ui.note("measured " + std::to_string(report.measured_rounds) + " of " +
            counted(report.all_rounds, "round") + " of pairs: --time allows more");
  if (!report.findings.empty()) {
    View found;
    found.root = document("check-net");
    found.table = table_of_findings(report.findings);
    ui.show(found);
  }
  ui.note(counted(report.nodes.size(), "node") + ": " + counts_of(report.findings));
}

int run(Context& context, const CheckNetOptions& options) {
  const milliseconds time = options.time.value_or(kUsualTime);
  if (time < kSlot)
    throw Error(ErrorKind::usage, "check net: --time must be at least " + to_string(kSlot));
  const RemoteTarget target = running_nodes(context, options.target);
  if (target.nodes.size() < 2)
    throw Error(ErrorKind::usage, "check net: there is one node, and a connection needs two");
  const auto nodes = cluster_nodes(context, target);
  context.ui().progress("checking the nodes");
  const auto checked =
      launcher::check_nodes(context.ssh(), nodes, context.agent(), context.cancel());
  NetReport report{.cluster = target.cluster.name.value,
                   .nodes = launcher::linked_nodes(nodes, checked),
                   .pairs = {},
                   .findings = {}};
  for (Finding& finding : launcher::node_findings(checked, {}, report.cluster))
    if (finding.check == "ssh" || finding.check == "agent" || finding.check == "rdma" ||
        finding.check == "memlock")
      report.findings.push_back(std::move(finding));
  if (report.nodes.size() > 1) {
    launcher::LinkProbeRequest request = launcher::new_link_probe();
    report.all_rounds = launcher::tournament_rounds(static_cast<int>(report.nodes.size()));
    request.slot = kSlot;
    request.rounds = static_cast<int>(std::min<std::int64_t>(report.all_rounds, time / kSlot));
    report.measured_rounds = request.rounds;
    context.ui().progress("measuring " + counted(request.rounds, "round") + " of pairs");
    const auto answers = launcher::probe_links(context.ssh(), nodes, report.nodes, request,
                                               context.agent(), context.cancel());
    report.pairs = launcher::pairs_of(report.nodes, answers);
    std::ranges::move(launcher::connection_findings(report.nodes, answers),
                      std::back_inserter(report.findings));
    std::ranges::move(launcher::speed_findings(report.nodes, answers),
                      std::back_inserter(report.findings));
  }
  if (worst_of(report.findings) != "error") {
    add_all_reduce(context, target, nodes, checked, options, report);
  } else {
    std::vector<std::string> names;
    for (const state::Node& node : target.nodes)
      names.push_back(node.name.value);
    report.findings.push_back(unmeasured_all_reduce(report.cluster, names, report.findings));
  }
  show_net(context, report);
  return worst_of(report.findings) == "error" ? 1 : 0;
}

}  // namespace

Action make_check_net_command(Arguments& arguments) {
  auto options = std::make_shared<CheckNetOptions>();
  describe_target(arguments, options->target);
  arguments.duration("--time", "Measure pairs of nodes for at most this long (60s)", options->time);
  arguments.flag("--allow-tcp", "Accept TCP between nodes that have RDMA", options->allow_tcp);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
