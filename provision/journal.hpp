// The intents of provisioning: what they are called, and how they are opened and closed.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "state/store.hpp"

namespace fastgpu::provision {

// A cluster or node in state `creating` or `deleting` has one of these open as long as it is so.
constexpr std::string_view kCreateCluster = "create-cluster";
constexpr std::string_view kDeleteCluster = "delete-cluster";
constexpr std::string_view kCreateNode = "create-node";
constexpr std::string_view kDeleteNode = "delete-node";
constexpr std::string_view kReplaceNode = "replace-node";  ///< Of a node that was lost.
/// Machines are asked for at another place than the cluster's, under tokens made of the intent's,
/// or given back there, without a token.
constexpr std::string_view kTryPlace = "try-place";
/// A machine of a node that was given up may come yet.
constexpr std::string_view kLateMachine = "late-machine";
constexpr std::string_view kStartCluster = "start-cluster";
constexpr std::string_view kStopCluster = "stop-cluster";
/// A node that was asked for and that nobody has reached yet. It is left to whoever needs the node,
/// and not settled.
constexpr std::string_view kMeetNode = "meet-node";
/// An image is made of a node, which is put back afterwards. It is left to whoever makes the image,
/// and not settled.
constexpr std::string_view kBakeImage = "bake-image";

/// Whether `intent` is one of provisioning's, and not of a job or a copy.
bool is_ours(const state::Intent& intent);

/// The cluster's open intents that are ours.
std::vector<state::Intent> our_intents(const state::Store& store, const state::ClusterId& cluster);

/// The cluster's trials of other places under tokens that may still be repeated: a run was killed
/// before it knew what it got.
std::vector<state::Intent> unspent_trials(const state::Store& store,
                                          const state::ClusterId& cluster);

void open_cluster_intent(state::Store& store, const state::Cluster& cluster,
                         std::string_view action);
void open_node_intent(state::Store& store, const state::Node& node, std::string_view action);

/// Closes what is open for the cluster as a whole under `action`.
void close_cluster_intents(state::Store& store, const state::Cluster& cluster,
                           std::string_view action);

/// Closes what is open for these nodes, made, met or unmade.
void close_node_intents(state::Store& store, const state::ClusterId& cluster,
                        std::span<const state::Node> nodes);

}  // namespace fastgpu::provision
