#include "cli/workflows/cluster_scheduler.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "base/outcome.hpp"
#include "base/secret.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/node_scripts/node_script.hpp"
#include "launcher/checks/slurm_findings.hpp"
#include "launcher/engines/slurm_site.hpp"
#include "launcher/fan_out.hpp"
#include "provision/held_cluster.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

using state::Node;
using std::chrono::milliseconds;

constexpr const char* kSetUpSlurm =
#include "templates/nodes/set_up_slurm.inc"
    ;

constexpr milliseconds kInstallLimit{25 * 60'000};
constexpr milliseconds kApplyLimit{3 * 60'000};
constexpr milliseconds kCheckLimit{60'000};

/// The script's exit status on a node without Slurm of the cluster.
constexpr int kNoSlurm = 3;

/// The calls of the script on the nodes of one cluster.
class SlurmSetUp {
 public:
  using Words = std::function<std::vector<std::string>(const Node&)>;

  SlurmSetUp(Services& services, const state::Cluster& cluster)
      : services_(services), cluster_(cluster), where_(services.store(), cluster) {}

  /// Runs an action on all of the nodes. Throws the first failure.
  std::vector<launcher::NodeAnswer> call(std::span<const Node> nodes, const Words& words,
                                         const Secret& input, milliseconds limit) {
    auto answers = ask(nodes, words, input, limit);
    for (const launcher::NodeAnswer& answer : answers) {
      if (!answer.result.ok()) throw answer.result.error();
      check_script(answer, "set up Slurm");
    }
    return answers;
  }

  /// Installs Slurm where it is missing, and returns the facts of the nodes.
  std::vector<launcher::SlurmNode> prepare(std::span<const Node> nodes) {
    const auto words = [&](const Node& node) {
      return std::vector<std::string>{"prepare", id(), role(node, nodes), node.user};
    };
    const auto answers = call(nodes, words, {}, kInstallLimit);
    std::vector<launcher::SlurmNode> found;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      launcher::SlurmNode node{
          .name = nodes[i].name, .address = where_.peer(nodes[i]).address, .slots = nodes[i].slots};
      try {
        launcher::read_slurm_facts(answers[i].out, node);
      } catch (const Error& e) {
        throw e.during(nodes[i].name.value);
      }
      found.push_back(std::move(node));
    }
    launcher::check_slurm_nodes(found);
    return found;
  }

  Secret key(const Node& head) {
    const auto words = [&](const Node&) { return std::vector<std::string>{"key", id()}; };
    return Secret(call({&head, 1}, words, {}, kApplyLimit).front().out);
  }

  void apply(std::span<const Node> nodes, const Secret& files) {
    const auto words = [&](const Node& node) {
      return std::vector<std::string>{"apply", id(), role(node, nodes),
                                      launcher::slurm_node_name(node.name)};
    };
    call(nodes, words, files, kApplyLimit);
  }

  void await(std::span<const Node> nodes) {
    const auto words = [&](const Node&) {
      return std::vector<std::string>{"await", id(), std::to_string(nodes.size())};
    };
    call(nodes.first(1), words, {}, kApplyLimit);
  }

  /// Ends Slurm where it can, and reports where it stays. A set-up that failed early has left
  /// nothing on some nodes: these are not asked for root.
  void remove(std::vector<Node> nodes) {
    nodes = with_slurm(nodes);
    for (const char* action : {"leave", "remove"}) {
      const auto words = [&](const Node&) { return std::vector<std::string>{action, id()}; };
      const auto answers = ask(nodes, words, {}, kApplyLimit);
      std::vector<Node> answered;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto done = reached_by(answers[i], "end Slurm");
        if (done.ok())
          answered.push_back(nodes[i]);
        else
          warn_of_rest(done.error(), "Slurm stays on " + nodes[i].name.value);
      }
      nodes = std::move(answered);
    }
  }

 private:
  /// Returns the nodes that have files of the cluster's Slurm. Warns of those that do not answer.
  std::vector<Node> with_slurm(std::span<const Node> nodes) {
    std::vector<launcher::NodeTask> tasks;
    for (const Node& node : nodes)
      tasks.push_back(
          {.host = where_.of(node), .command = user_script_command(kSetUpSlurm, {"has", id()})});
    const auto answers = run(tasks, kApplyLimit);
    std::vector<Node> found;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!answers[i].result.ok())
        warn_of_rest(answers[i].result.error(),
                     "if Slurm is set up on " + nodes[i].name.value + ", it stays there");
      else if (answers[i].result.value().code() != kNoSlurm)
        found.push_back(nodes[i]);
    }
    return found;
  }

  void warn_of_rest(const Error& reason, const std::string& rest) {
    services_.messages().warn(
        std::string(reason.what()) + "; " + rest +
        ", and is removed by running there: " + launcher::slurm_removal_command());
  }

  std::vector<launcher::NodeAnswer> ask(std::span<const Node> nodes, const Words& words,
                                        const Secret& input, milliseconds limit) {
    std::vector<launcher::NodeTask> tasks;
    for (const Node& node : nodes)
      tasks.push_back({.host = where_.of(node),
                       .command = script_command(node, kSetUpSlurm, words(node)),
                       .input = input.reveal()});
    return run(tasks, limit);
  }

  std::vector<launcher::NodeAnswer> run(const std::vector<launcher::NodeTask>& tasks,
                                        milliseconds limit) {
    auto answers = launcher::ask(services_.ssh(), tasks, limit, services_.cancel());
    services_.cancel().check();
    return answers;
  }

  const std::string& id() const { return cluster_.id.value; }

  /// Returns the part of a node in Slurm: the first one has the controller.
  static std::string role(const Node& node, std::span<const Node> nodes) {
    return node.index == nodes.front().index ? "head" : "node";
  }

  Services& services_;
  const state::Cluster& cluster_;
  ClusterHosts where_;
};

std::vector<Node> running_part(const state::Store& store, const state::Cluster& cluster) {
  std::vector<Node> nodes = store.nodes(cluster.id);
  std::erase_if(nodes, [](const Node& node) { return node.state != state::NodeState::running; });
  return nodes;
}

}  // namespace

bool has_own_slurm(const state::Cluster& cluster) {
  return *cluster.scheduler == state::Scheduler::slurm;
}

void record_scheduler(const provision::Tools& tools, const ClusterName& name,
                      state::Scheduler scheduler) {
  const provision::HeldCluster held(tools, name);
  state::Cluster cluster = held.cluster();
  if (*cluster.scheduler == scheduler) return;
  cluster.scheduler = scheduler;
  tools.store.update_cluster(cluster);
  fault_point("scheduler:recorded");
}

void arrange_scheduler(Services& services, const ClusterName& name) {
  const auto cluster = services.store().find_cluster(name);
  if (!cluster || !has_own_slurm(*cluster)) return;
  const std::vector<Node> nodes = running_part(services.store(), *cluster);
  if (nodes.empty()) return;
  services.messages().progress("setting up Slurm on " + counted(nodes.size(), "node"));
  try {
    SlurmSetUp slurm(services, *cluster);
    const auto facts = slurm.prepare(nodes);
    fault_point("scheduler:prepared");
    const Secret key = slurm.key(nodes.front());
    fault_point("scheduler:key");
    // The script stays there, for a node that cannot be reached when the cluster goes.
    slurm.apply(nodes, Secret(key.reveal() + "\n" + launcher::slurm_files(facts) + "# set_up\n" +
                              kSetUpSlurm));
    fault_point("scheduler:applied");
    slurm.await(nodes);
  } catch (const Error& e) {
    throw e.during("setting up Slurm (`fastgpu start cluster " + name.value + "` repeats it)");
  }
  services.messages().end_progress();
}

std::vector<launcher::Finding> check_scheduler(Services& services, const RemoteTarget& target) {
  const int head = services.store().nodes(target.cluster.id).front().index;
  std::vector<launcher::NodeTask> tasks;
  for (std::size_t i = 0; i < target.nodes.size(); ++i)
    tasks.push_back({.host = target.hosts[i],
                     .command = user_script_command(
                         kSetUpSlurm, {"check", target.cluster.id.value,
                                       target.nodes[i].index == head ? "head" : "node"})});
  const auto answers = launcher::ask(services.ssh(), tasks, kCheckLimit, services.cancel());
  services.cancel().check();
  std::vector<launcher::SlurmHealth> nodes;
  std::vector<launcher::Finding> findings;
  for (const launcher::NodeAnswer& answer : answers) {
    if (!answer.result.ok()) continue;  // The check of the nodes has a finding of that.
    const NodeName& node = answer.result.host;
    const auto health = attempt([&] {
      check_script(answer, "check Slurm");
      return launcher::parse_slurm_health(node, answer.out);
    });
    if (health.ok())
      nodes.push_back(health.value());
    else
      findings.push_back({.check = std::string(launcher::kSlurmCheck),
                          .severity = launcher::Severity::error,
                          .nodes = {node.value},
                          .found = health.error().what(),
                          .why = "jobs with --engine slurm may fail",
                          .remedy = "fastgpu start cluster " + target.cluster.name.value});
  }
  std::ranges::move(launcher::slurm_findings(nodes, target.cluster.name.value),
                    std::back_inserter(findings));
  return findings;
}

void remove_scheduler(Services& services, const state::Cluster& cluster,
                      std::span<const state::Node> nodes) {
  if (!provision::provider_info(cluster.provider).needs_hosts_file || !has_own_slurm(cluster) ||
      nodes.empty())
    return;
  SlurmSetUp(services, cluster).remove({nodes.begin(), nodes.end()});
}

}  // namespace fastgpu::cli
