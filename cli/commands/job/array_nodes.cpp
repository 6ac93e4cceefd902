#include "cli/commands/job/array_nodes.hpp"

#include <algorithm>
#include <utility>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/outcome.hpp"
#include "cli/workflows/absent_nodes.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "launcher/job.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {

using state::Node;
using state::NodeState;

namespace {

constexpr std::chrono::seconds kBetweenLooksAtLost{30};

std::string noted_run(const state::Job& job) {
  return launcher::run_name(job.id, job.record->restarts);
}

}  // namespace

ArrayNodes::ArrayNodes(Context& context, const RemoteTarget& target, std::string array)
    : context_(context), target_(target), array_(std::move(array)) {}

std::vector<Node> ArrayNodes::nodes_now() const {
  std::vector<Node> nodes = context_.store().nodes(target_.cluster.id);
  std::erase_if(nodes,
                [&](const Node& node) { return !contains(target_.nodes, node.name, &Node::name); });
  return nodes;
}

bool ArrayNodes::is_lost(const Node& node) const {
  const auto found = lost_.find(node.name);
  return found != lost_.end() && found->second == node.instance_id;
}

bool ArrayNodes::is_missing(const Node& node) const {
  return node.state != NodeState::running || is_lost(node);
}

std::string ArrayNodes::reason_of(const Node& node) const {
  const ClusterName& cluster = target_.cluster.name;
  if (node.state == NodeState::running)
    return "the contact with " + node.name.value + " was lost: see `fastgpu get nodes " +
           cluster.value + "`";
  return absence_of(target_.cluster, node, change_of(context_.store(), cluster));
}

void ArrayNodes::ask_place() const {
  context_.clouds().give_up_soon();
  // A place that does not answer leaves the record as it is.
  static_cast<void>(
      attempt([&] { provision::refresh_cluster(context_.tools(), target_.cluster.name); }));
}

void ArrayNodes::warn_once(const Node& node, const std::vector<Node>& all) {
  if (!told_.insert(node.name).second) return;
  const bool is_last = std::ranges::all_of(all, [&](const Node& one) { return is_missing(one); });
  context_.ui().warn("array " + array_ +
                     (is_last ? " has no node left: " : " goes on with its other nodes: ") +
                     reason_of(node));
}

std::vector<Node> ArrayNodes::without_answer(std::vector<Node> nodes) const {
  std::vector<NodeName> names;
  for (const Node& node : nodes)
    if (node.state == NodeState::running) names.push_back(node.name);
  const std::vector<NodeName> silent = nodes_without_answer(context_, target_, names);
  std::erase_if(nodes, [&](const Node& node) {
    return node.state == NodeState::running && !contains(silent, node.name);
  });
  return nodes;
}

void ArrayNodes::ask_lost_again() {
  if (lost_.empty() || context_.clock().now() < ask_again_at_) return;
  std::vector<Node> lost = nodes_now();
  std::erase_if(
      lost, [&](const Node& node) { return !is_lost(node) || node.state != NodeState::running; });
  const std::vector<Node> silent = without_answer(lost);
  ask_again_at_ = context_.clock().now() + kBetweenLooksAtLost;
  for (const Node& node : lost) {
    if (contains(silent, node.name, &Node::name)) continue;
    lost_.erase(node.name);
    told_.erase(node.name);
    context_.ui().note("array " + array_ + " uses " + node.name.value +
                       " again, which answers now");
  }
}

std::vector<Node> ArrayNodes::newly_lost(const state::Job& job) const {
  const auto& placement = job.record->placement;
  const std::string run = noted_run(job);
  std::vector<Node> nodes = nodes_now();
  std::erase_if(nodes, [&](const Node& node) {
    const auto ranks = std::ranges::find(placement, node.name, &state::NodeRanks::node);
    const bool is_replaced = ranks != placement.end() && has_another_machine(node, *ranks);
    return !contains(job.record->lost_nodes, node.name) || is_lost(node) || is_replaced ||
           asked_.contains({run, node.name});
  });
  return nodes;
}

void ArrayNodes::note(const state::Job& job) try {
  if (newly_lost(job).empty()) return;
  ask_place();
  std::vector<Node> lost = newly_lost(job);
  for (const Node& node : lost)
    asked_.insert({noted_run(job), node.name});
  lost = without_answer(std::move(lost));
  for (const Node& node : lost)
    lost_[node.name] = node.instance_id;
  ask_again_at_ = context_.clock().now() + kBetweenLooksAtLost;
  const std::vector<Node> nodes = nodes_now();
  for (const Node& node : lost)
    warn_once(node, nodes);
} catch (const Error&) {  // The record cannot be read.
  return;
}

std::vector<Node> ArrayNodes::usable() {
  ask_lost_again();
  const std::vector<Node> nodes = nodes_now();
  std::vector<Node> usable;
  for (const Node& node : nodes) {
    const bool is_off = node.state != NodeState::running;
    if (is_off) {
      off_.insert(node.name);
    } else if (off_.erase(node.name) > 0) {  // It was started again.
      lost_.erase(node.name);
      told_.erase(node.name);
    }
    if (is_missing(node))
      warn_once(node, nodes);
    else
      usable.push_back(node);
  }
  return usable.empty() ? target_.nodes : usable;
}

std::string ArrayNodes::lost_names() {
  ask_lost_again();
  std::string names;
  for (const Node& node : nodes_now())
    if (is_lost(node)) append_item(names, node.name.value, ",");
  return names;
}

void ArrayNodes::tell_missing() const {
  if (!lost_.empty()) ask_place();
  for (const Node& node : nodes_now())
    if (is_missing(node)) context_.ui().warn(reason_of(node));
}

}  // namespace fastgpu::cli
