#include "provision/plan.hpp"

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "provision/observe.hpp"
#include "provision/providers.hpp"

namespace fastgpu::provision {
namespace {

using state::ClusterState;

[[noreturn]] void refuse_size(const ClusterSpec& wanted, const FoundCluster& found) {
  const std::string& name = wanted.name.value;
  const std::string nodes = std::to_string(wanted.nodes);
  const std::string there = counted(found.nodes.size(), "node");
  if (found.cluster->state == ClusterState::creating)
    throw Error(ErrorKind::conflict,
                "cluster '" + name + "' was left half-made with " + there + ", not " + nodes +
                    ": repeat that creation, or `fastgpu delete cluster " + name + "` first");
  throw Error(ErrorKind::conflict, "cluster '" + name + "' exists already with " + there +
                                       ", not " + nodes + ": `fastgpu scale cluster " + name +
                                       " --nodes " + nodes + "` changes its size");
}

/// Returns true if the existing cluster has an allowed size: from the requested minimum up to the
/// requested number. A cluster whose creation was killed at once has no nodes.
bool has_wanted_size(const ClusterSpec& wanted, const FoundCluster& found) {
  const auto most = static_cast<std::size_t>(wanted.nodes);
  const std::size_t size = found.nodes.size();
  if (size == 0 && found.cluster->state == ClusterState::creating) return true;
  return size <= most && size >= static_cast<std::size_t>(wanted.least_nodes());
}

void check_same(const ClusterSpec& wanted, const FoundCluster& found) {
  const state::Cluster& there = *found.cluster;
  const std::string name = wanted.name.value;
  if (there.provider != wanted.provider)
    throw Error(ErrorKind::conflict, "cluster '" + name + "' exists already with provider '" +
                                         there.provider + "', not '" + wanted.provider +
                                         "': choose another name, or delete it first (`fastgpu " +
                                         "scale cluster` changes only its size)");
  if (there.state == ClusterState::deleting)
    throw Error(ErrorKind::conflict, "cluster '" + name + "' is being deleted: `fastgpu delete " +
                                         "cluster " + name + "` finishes that");
  if (!has_wanted_size(wanted, found)) refuse_size(wanted, found);
  if (there.slots != wanted.slots)
    throw Error(ErrorKind::conflict, "cluster '" + name + "' exists already with " +
                                         counted(there.slots, "slot") + " a node, not " +
                                         std::to_string(wanted.slots) +
                                         ": delete it first, or leave --slots out");
  if (there.user != wanted.user)
    throw Error(ErrorKind::conflict, "cluster '" + name + "' exists already with user '" +
                                         there.user + "', not '" + wanted.user +
                                         "': choose another name, or delete it first");
  if (!found.difference.empty())
    throw Error(ErrorKind::conflict, "cluster '" + name + "' exists already " + found.difference +
                                         ": choose another name, or delete it first");
}

PlanStep step_for(int index, const ClusterSpec& wanted, const FoundCluster& found) {
  PlanStep step{.index = index, .name = node_name(wanted.name, index), .instance_id = {}};
  for (const state::Node& node : found.nodes) {
    if (node.index != index) continue;
    step.name = node.name;
    const Instance* instance = find_instance(found.instances, node);
    if (instance != nullptr && instance->state != InstanceState::gone) {
      step.kind = PlanStepKind::adopt_node;
      step.instance_id = instance->id;
    }
  }
  return step;
}

std::string line_of(const PlanStep& step) {
  switch (step.kind) {
    case PlanStepKind::prepare:
      return "prepare shared resources";
    case PlanStepKind::create_node:
      return "create node " + step.name.value;
    case PlanStepKind::adopt_node:
      return "adopt node " + step.name.value + " (" + step.instance_id + ")";
    case PlanStepKind::destroy_stray:
      return "destroy stray machine " + step.instance_id;
  }
  return {};
}

std::string word_of(PlanStepKind kind) {
  switch (kind) {
    case PlanStepKind::prepare:
      return "prepare";
    case PlanStepKind::create_node:
      return "create-node";
    case PlanStepKind::adopt_node:
      return "adopt-node";
    case PlanStepKind::destroy_stray:
      return "destroy-stray";
  }
  return {};
}

std::string word_of(PlanKind kind) {
  switch (kind) {
    case PlanKind::create:
      return "create";
    case PlanKind::resume:
      return "resume";
    case PlanKind::unchanged:
      return "unchanged";
  }
  return {};
}

}  // namespace

NodeName node_name(const ClusterName& cluster, int index) {
  return {cluster.value + "-" + std::to_string(index)};
}

ClusterPlan make_plan(const ClusterSpec& wanted, const FoundCluster& found) {
  check_spec(wanted);
  check_provider_name(wanted.provider);
  ClusterPlan plan{.wanted = wanted, .steps = {}};
  if (found.cluster) {
    check_same(wanted, found);
    const bool is_creating = found.cluster->state == ClusterState::creating;
    plan.kind = is_creating ? PlanKind::resume : PlanKind::unchanged;
    for (const Instance& stray : strays(found.nodes, found.instances))
      plan.steps.push_back({PlanStepKind::destroy_stray, stray.index, {}, stray.id});
  }
  if (plan.kind == PlanKind::unchanged) return plan;
  plan.steps.push_back({PlanStepKind::prepare, 0, {}, {}});
  for (int index = 0; index < wanted.nodes; ++index)
    plan.steps.push_back(step_for(index, wanted, found));
  return plan;
}

std::vector<std::string> describe(const ClusterPlan& plan) {
  std::vector<std::string> lines;
  for (const PlanStep& step : plan.steps)
    lines.push_back(line_of(step));
  if (plan.kind == PlanKind::unchanged && lines.empty())
    lines.push_back("nothing to do: cluster '" + plan.wanted.name.value +
                    "' already matches the request");
  return lines;
}

nlohmann::json to_json(const ClusterPlan& plan) {
  nlohmann::json steps = nlohmann::json::array();
  for (const PlanStep& step : plan.steps) {
    nlohmann::json one = {{"step", word_of(step.kind)}};
    if (!step.name.value.empty()) one["node"] = step.name.value;
    if (!step.instance_id.empty()) one["instance"] = step.instance_id;
    steps.push_back(std::move(one));
  }
  return {{"schema", "fastgpu/plan/v1"},      {"cluster", plan.wanted.name.value},
          {"provider", plan.wanted.provider}, {"nodes", plan.wanted.nodes},
          {"slots", plan.wanted.slots},       {"user", plan.wanted.user},
          {"result", word_of(plan.kind)},     {"steps", std::move(steps)}};
}

}  // namespace fastgpu::provision
