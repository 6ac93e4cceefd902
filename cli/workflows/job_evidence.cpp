#include "cli/workflows/job_evidence.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "base/contains.hpp"
#include "base/outcome.hpp"
#include "base/quote.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/job_metrics.hpp"
#include "cli/workflows/name_folding.hpp"
#include "cli/workflows/removed_folders.hpp"
#include "cli/workflows/trace_reading.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/placement.hpp"
#include "process/exit_status.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Ranks that write much to stdout keep the end of their stderr.
constexpr agent::Tail kTail{200, agent::TailOf::log};
constexpr std::size_t kMostOfLog = 16'384;
constexpr std::size_t kMostFacts = 128UL << 10U;
constexpr std::chrono::milliseconds kFactsTimeout{60'000};
constexpr std::size_t kMostUsage = 16UL << 20U;
constexpr std::chrono::milliseconds kUsageTimeout{30'000};

/// Keeps the end of a text, from the beginning of a line if possible.
void keep_end(std::string& text, std::string_view bytes) {
  text += bytes;
  if (text.size() <= 2 * kMostOfLog) return;
  text.erase(0, text.size() - kMostOfLog);
}

void cut_to_end(std::string& text) {
  if (text.size() <= kMostOfLog) return;
  text.erase(0, text.size() - kMostOfLog);
  const auto line = text.find('\n');
  if (line != std::string::npos) text.erase(0, line + 1);
}

class EvidenceObserver final : public launcher::JobObserver {
 public:
  explicit EvidenceObserver(JobEvidence& evidence) : evidence_(evidence) {}

  void output(int rank, agent::OutputStream stream, std::string_view bytes) override {
    if (rank == agent::kLauncherRank) return keep_end(evidence_.launcher_log, bytes);
    const auto index = static_cast<std::size_t>(rank);
    if (rank < 0 || index >= evidence_.ranks.size()) return;
    RankEvidence& found = evidence_.ranks[index];
    keep_end(stream == agent::OutputStream::out ? found.out : found.err, bytes);
  }

  void rank_ended(const agent::RankEnd& end, const NodeName&) override {
    const auto index = static_cast<std::size_t>(end.rank);
    if (end.rank < 0 || index >= evidence_.ranks.size()) return;
    RankEvidence& found = evidence_.ranks[index];
    if (evidence_.record.spec.engine != launcher::EngineKind::mpirun && !end.host.empty())
      found.node = end.host;
    found.has_ended = true;
    found.outcome = end.reason.empty() ? describe(end.how) : end.reason;
    found.exit_code = end.how.shell_code();
    if (end.how.signal != 0) found.signal = process::signal_name(end.how.signal);
    found.was_told = end.told;
    found.out_of_memory = end.out_of_memory;
    found.began = end.began;
    found.ended = end.ended;
  }

 private:
  JobEvidence& evidence_;
};

std::string left_text(const NodeName& node) {
  return node.value + " is no longer in the cluster";
}

/// Returns "demo-[0-1] are stopped: fastgpu start cluster demo starts them".
std::string state_text(const state::Cluster& cluster, state::NodeState state,
                       std::span<const std::string> names) {
  const bool is_one = names.size() == 1;
  std::string text =
      fold_names(names) + (is_one ? " is " : " are ") + std::string(state::to_string(state));
  if (state == state::NodeState::stopped)
    text +=
        ": `fastgpu start cluster " + cluster.name.value + "` starts " + (is_one ? "it" : "them");
  return text;
}

/// Returns a script that prints facts of a node, each within five seconds and 60 lines.
std::string facts_script(const std::string& run) {
  const std::string folder = "~/" + launcher::job_directory(run);
  std::string script;
  for (const char* command :
       {"uname -a", "head -n 4 /etc/os-release", "date -u", "uptime", "nproc", "free -m", "df -h",
        "ulimit -a", "ip -brief address", "nvidia-smi", "npu-smi info", "dmesg | tail -n 40"}) {
    const std::string words = shell_quote(command);
    script += "echo \"\\$ \"" + words + "; timeout 5 sh -c " + words +
              " 2>&1 | head -n 60 | head -c 8000; echo; ";
  }
  script += "echo \"\\$ stacks\"; head -c 65536 " + folder + "/stacks 2>&1; true";
  return shell_join(std::vector<std::string>{"sh", "-c", script});
}

/// Returns the hosts of the job's nodes that run, on the machines that it was started on.
std::vector<ssh::Host> hosts_for_facts(Services& services, const OpenJob& open,
                                       JobEvidence& evidence) {
  const auto nodes = services.store().nodes(open.cluster.id);
  const ClusterHosts where(services.store(), open.cluster);
  std::vector<ssh::Host> hosts;
  for (const launcher::NodeRanks& ranks : open.record.placement) {
    const auto node = std::ranges::find(nodes, ranks.node, &state::Node::name);
    const std::string gone = left_text(ranks.node);
    if (node == nodes.end() && !contains(evidence.missing, gone)) evidence.missing.push_back(gone);
    if (node != nodes.end() && node->state == state::NodeState::running &&
        !has_another_machine(*node, ranks))
      hosts.push_back(where.of(*node));
  }
  return hosts;
}

void add_facts(Services& services, const OpenJob& open, JobEvidence& evidence) {
  const std::string script = facts_script(evidence.run);
  std::vector<launcher::NodeTask> tasks;
  for (const ssh::Host& host : hosts_for_facts(services, open, evidence))
    tasks.push_back({.host = host, .command = script, .most_output = kMostFacts});
  for (const auto& answer :
       launcher::ask(services.ssh(), tasks, kFactsTimeout, services.cancel())) {
    services.cancel().check();
    const std::string& name = answer.result.host.value;
    if (!answer.result.ok())
      evidence.missing.push_back("facts of " + name + ": " + answer.result.error().what());
    else
      evidence.facts.push_back({.node = name, .text = answer.out});
  }
}

/// Returns the running nodes of a cluster on which fastgpu has set Slurm up: each may have had
/// ranks.
std::vector<ssh::Host> hosts_of_own_slurm(Services& services, const state::Cluster& cluster) {
  const ClusterHosts where(services.store(), cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : services.store().nodes(cluster.id))
    if (node.state == state::NodeState::running) hosts.push_back(where.of(node));
  return hosts;
}

/// Returns the hosts that have samples of the job. Nodes that an engine chooses are not reached.
std::vector<ssh::Host> hosts_with_samples(Services& services, const OpenJob& open,
                                          JobEvidence& evidence) {
  switch (open.record.spec.engine) {
    case launcher::EngineKind::mpirun:
      return hosts_for_facts(services, open, evidence);
    case launcher::EngineKind::slurm:
      if (has_own_slurm(open.cluster)) return hosts_of_own_slurm(services, open.cluster);
      return {};
    case launcher::EngineKind::kubernetes:
      return {};
  }
  return {};
}

void add_traces(Services& services, const OpenJob& open, std::span<const ssh::Host> hosts,
                JobEvidence& evidence) {
  TracesRead read = read_traces(services, open, hosts, evidence.usage);
  evidence.traces = std::move(read.traces);
  evidence.traces_left_out = read.left_out;
  std::ranges::move(read.missing, std::back_inserter(evidence.missing));
}

/// Adds the samples and the counters of each node that has some, and the timelines unless facts are
/// asked for. Returns the nodes that lack the folder of a job that has ended.
std::vector<NodeName> add_usage(Services& services, const OpenJob& open, WithFacts facts,
                                JobEvidence& evidence) {
  const std::vector<std::string> words = {"job-usage", launcher::job_directory(evidence.run)};
  const std::string command = remote::agent_command(services.agent().hash, words);
  std::vector<launcher::NodeTask> tasks;
  const auto hosts = hosts_with_samples(services, open, evidence);
  for (const ssh::Host& host : hosts)
    tasks.push_back({.host = host, .command = command, .most_output = kMostUsage});
  if (tasks.empty()) return {};
  const auto answers = launcher::ask_agent(services.ssh(), tasks, services.agent(), kUsageTimeout,
                                           services.cancel());
  services.cancel().check();
  std::vector<NodeName> without_folder;
  for (const auto& answer : answers) {
    const auto usage = attempt([&] {
      launcher::check({answer}, "reading the usage");
      return launcher::parse_job_usage(answer.out);
    });
    const bool is_mpirun = open.record.spec.engine == launcher::EngineKind::mpirun;
    const bool lacks_folder = !usage.ok() && usage.error().kind() == ErrorKind::not_found;
    const bool is_first = answer.result.host == open.record.placement.front().node;
    if (usage.ok() && !is_mpirun && usage.value().samples.empty()) continue;
    if (lacks_folder && !is_mpirun && !is_first) continue;  // Slurm has chosen others.
    if (usage.ok())
      evidence.usage.push_back({.node = answer.result.host.value, .usage = usage.value()});
    else if (lacks_folder && launcher::has_ended(open.job))
      without_folder.push_back(answer.result.host);
    else
      evidence.missing.emplace_back(usage.error().what());
  }
  if (facts == WithFacts::no) add_traces(services, open, hosts, evidence);
  return without_folder;
}

/// Names the engine's nodes as the place of the ranks where the engine has chosen them.
void adapt_to_engine(JobEvidence& evidence) {
  switch (evidence.record.spec.engine) {
    case launcher::EngineKind::mpirun:
      return;
    case launcher::EngineKind::slurm: {
      const std::string& nodes = evidence.record.engine_job.nodes;
      evidence.record.placement.front().node.value = nodes.empty() ? "slurm" : nodes;
      return;
    }
    case launcher::EngineKind::kubernetes:
      evidence.missing.emplace_back("the ends of ranks are not known in Kubernetes");
  }
}

/// Reads the ends of the logs and of the ranks from the nodes that can be asked. Returns the nodes
/// that lack the folder of a job that has ended.
std::vector<NodeName> add_logs(Services& services, const OpenJob& open,
                               const std::vector<NodeName>& absent, JobEvidence& evidence) {
  // The first node of a job in Slurm has all of its files.
  const bool is_slurm = open.record.spec.engine == launcher::EngineKind::slurm;
  if (is_slurm && contains(absent, open.record.placement.front().node)) return {};
  EvidenceObserver observer(evidence);
  try {
    const auto engine = engine_for(services, open.cluster, open.record);
    engine->logs(evidence.run, open.record, {.tail = kTail, .left_out = absent}, observer,
                 services.cancel());
  } catch (const Error& e) {
    services.cancel().check();
    auto without_folder = nodes_without_folder(open, e);
    if (without_folder.empty()) evidence.missing.emplace_back(e.what());
    return without_folder;
  }
  return {};
}

std::vector<NodeName> absent_nodes_of(Services& services, const OpenJob& open,
                                      JobEvidence& evidence) {
  if (is_in_kubernetes(open.job)) return {};
  return note_absent_nodes(open.cluster, services.store().nodes(open.cluster.id),
                           open.record.placement, evidence);
}

/// A job succeeds where all of its ranks do.
void add_recorded_success(JobEvidence& evidence) {
  for (RankEvidence& rank : evidence.ranks) {
    if (rank.has_ended) continue;
    rank.has_ended = true;
    rank.exit_code = 0;
    rank.outcome = describe(process::ExitStatus{});
  }
}

}  // namespace

std::vector<NodeName> note_absent_nodes(const state::Cluster& cluster,
                                        std::span<const state::Node> nodes,
                                        std::span<const launcher::NodeRanks> placement,
                                        JobEvidence& evidence) {
  std::vector<NodeName> absent;
  std::map<state::NodeState, std::vector<std::string>> names;
  for (const launcher::NodeRanks& ranks : placement) {
    if (contains(absent, ranks.node)) continue;
    const auto node = std::ranges::find(nodes, ranks.node, &state::Node::name);
    const bool is_another = node != nodes.end() && has_another_machine(*node, ranks);
    const bool runs = node != nodes.end() && node->state == state::NodeState::running;
    if (runs && !is_another) continue;
    absent.push_back(ranks.node);
    if (node == nodes.end())
      evidence.missing.push_back(left_text(ranks.node));
    else if (is_another)
      evidence.missing.push_back(text_of_another_machine(ranks.node));
    else
      names[node->state].push_back(ranks.node.value);
  }
  for (const auto& [state, same] : names)
    evidence.missing.push_back(state_text(cluster, state, same));
  return absent;
}

void add_recorded_ends(JobEvidence& evidence) {
  if (evidence.job.state == state::JobState::succeeded) return add_recorded_success(evidence);
  const auto& failure = evidence.record.failure;
  if (!failure || !failure->exit_code) return;
  const auto rank = std::ranges::find(evidence.ranks, failure->rank, &RankEvidence::rank);
  if (rank == evidence.ranks.end() || rank->has_ended) return;
  rank->has_ended = true;
  rank->exit_code = *failure->exit_code;
  rank->signal = failure->signal;
  rank->outcome = failure->signal.empty() ? describe(process::ExitStatus{.code = rank->exit_code})
                                          : "killed by " + failure->signal;
  rank->out_of_memory = failure->out_of_memory;
  if (!rank->out.empty() || !rank->err.empty()) return;
  for (const std::string& line : failure->last_lines)
    rank->err += line + "\n";
}

JobEvidence evidence_of(Services& services, const OpenJob& open, WithFacts facts) {
  JobEvidence evidence{.job = open.job,
                       .record = open.record,
                       .cluster = open.cluster.name.value,
                       .run = open.run()};
  adapt_to_engine(evidence);
  for (const launcher::NodeRanks& node : evidence.record.placement)
    for (int i = 0; i < node.count; ++i)
      evidence.ranks.push_back({.rank = node.first + i, .node = node.node.value});
  std::ranges::sort(evidence.ranks, {}, &RankEvidence::rank);
  if (const auto why = attempt([&] { require_begun(open); }); !why.ok()) {
    evidence.missing.emplace_back(why.error().what());
    return evidence;
  }
  if (open.is_without_cluster()) {
    evidence.missing.emplace_back("its cluster is deleted, and its logs with it");
    add_recorded_ends(evidence);
    return evidence;
  }
  evidence.price =
      guard_status_of(services.store(), open.cluster, std::chrono::system_clock::now()).price;
  const std::vector<NodeName> absent = absent_nodes_of(services, open, evidence);
  auto without_folder = add_logs(services, open, absent, evidence);
  add_recorded_ends(evidence);
  for (RankEvidence& rank : evidence.ranks) {
    cut_to_end(rank.out);
    cut_to_end(rank.err);
  }
  cut_to_end(evidence.launcher_log);
  for (const NodeName& node : add_usage(services, open, facts, evidence))
    if (!contains(without_folder, node)) without_folder.push_back(node);
  if (!without_folder.empty())
    evidence.missing.push_back(text_of_removed_folder(services, open, without_folder));
  if (facts == WithFacts::yes)
    add_facts(services, open, evidence);
  else
    evidence.metrics = curves_of(services, open, absent);
  return evidence;
}

}  // namespace fastgpu::cli
