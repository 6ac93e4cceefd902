// The comparison of the stored state with a provider's findings. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "provision/provider.hpp"

namespace fastgpu::provision {

/// The time after which every machine that started is listed. A cloud may list a new machine only
/// some seconds after its creation, and never lists a machine that did not start.
constexpr std::chrono::minutes kUnlistedAtMost{1};

/// A cluster with its nodes.
struct ClusterView {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  /// The owner, if another state directory has taken the cluster over (Instance::owner). Set by
  /// refresh_cluster alone.
  std::string owner{};
  /// The nodes whose machines boot: paid for, and not reachable yet.
  std::set<NodeName> booting{};
};

/// Returns true if `instance` is that node: by its token, by its identity, or, if the place stores
/// no tokens, by its index.
bool is_node(const Instance& instance, const state::Node& node);

/// Returns the instance behind `node`, or null.
const Instance* find_instance(std::span<const Instance> instances, const state::Node& node);

/// Copies the provider's data into a node: its identity and addresses.
void note_instance(state::Node& node, const Instance& instance);

/// Exchanges machines between those of `nodes` that were requested and not reached yet, `unmet`: a
/// machine that is listed with the index of another one of them becomes that node's. A cloud's
/// answer to a launch may have only the machines' ids, in any order.
void follow_indexes(std::span<state::Node> nodes, std::span<const Instance> found,
                    const std::set<NodeName>& unmet);

/// Returns the updated view. Running nodes that were found stopped (after a reboot, for example)
/// become stopped, stopped ones whose
/// machines boot become running because they are paid for, and missing ones become lost, unless
/// they were `just_asked_for`. The cluster's state follows its nodes. Nodes that are being made or
/// removed, and clusters in such a state, stay unchanged.
ClusterView observe(ClusterView stored, std::span<const Instance> found,
                    const std::set<NodeName>& just_asked_for = {});

/// Whether a machine runs, and is paid for.
enum class MachineUse : std::uint8_t { runs, is_off };

/// Returns the use of the machines of nodes that are being made or removed, by index, as the
/// provider has found them. Such a node's state does not tell: it may have a machine already, or
/// still. Nodes that were `just_asked_for` and are not listed are left out.
std::map<int, MachineUse> use_in_change(std::span<const state::Node> nodes,
                                        std::span<const Instance> found,
                                        const std::set<NodeName>& just_asked_for);

/// Returns running or stopped if all nodes are, degraded otherwise.
state::ClusterState state_of(std::span<const state::Node> nodes);

/// Returns the command that makes all these nodes run: "fastgpu start cluster demo", with
/// --replace-lost if one of them is lost.
std::string start_command(const ClusterName& cluster, std::span<const state::Node> nodes);

/// Returns the instances whose token belongs to none of `nodes`: they are not in use.
std::vector<Instance> strays(std::span<const state::Node> nodes, std::span<const Instance> found);

}  // namespace fastgpu::provision
