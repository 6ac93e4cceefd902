// What is stored set against what a provider finds. Pure.
#pragma once

#include <chrono>
#include <set>
#include <span>
#include <vector>

#include "provision/provider.hpp"

namespace fastgpu::provision {

/// A cloud may list a machine only some seconds after it gave it, and one that did not start is
/// listed nowhere any more.
constexpr std::chrono::minutes kUnlistedAtMost{1};

/// A cluster with its nodes.
struct ClusterView {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
};

/// Whether `instance` is that node: by its token, by its identity, or, where the place writes no
/// tokens, by its index.
bool is_node(const Instance& instance, const state::Node& node);

/// The instance behind `node`, or null.
const Instance* find_instance(std::span<const Instance> instances, const state::Node& node);

/// Takes over what the provider says about a node: its identity and addresses.
void note_instance(state::Node& node, const Instance& instance);

/// The view brought up to date: running nodes found stopped are stopped (after a reboot, say),
/// those not found are lost, unless they were `just_asked_for`; the cluster follows its nodes.
/// Nodes being made or unmade, and clusters in such a state, stay as they are.
ClusterView observe(ClusterView stored, std::span<const Instance> found,
                    const std::set<NodeName>& just_asked_for = {});

/// running or stopped where all nodes are, degraded otherwise.
state::ClusterState state_of(std::span<const state::Node> nodes);

/// Instances that carry a token of none of `nodes`: nobody works on them.
std::vector<Instance> strays(std::span<const state::Node> nodes, std::span<const Instance> found);

}  // namespace fastgpu::provision
