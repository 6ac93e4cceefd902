// The intents of provisioning: their names, and the functions that open and close them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "state/store.hpp"

namespace fastgpu::provision {

// Intents whose detail has a type are declared beside that type.
using state::kBakeImage;
using state::kLateMachine;
using state::kTryPlace;

// A cluster or node in state `creating` or `deleting` has one of these open while it is in that
// state.
constexpr std::string_view kCreateCluster = "create-cluster";
constexpr std::string_view kDeleteCluster = "delete-cluster";
constexpr std::string_view kCreateNode = "create-node";
constexpr std::string_view kDeleteNode = "delete-node";
constexpr std::string_view kReplaceNode = "replace-node";  ///< Stored for a node that was lost.
constexpr std::string_view kStartCluster = "start-cluster";
constexpr std::string_view kStopCluster = "stop-cluster";
/// Stored for a node that was requested and not reached yet. Never settled: the first command that
/// needs the node meets it.
constexpr std::string_view kMeetNode = "meet-node";

/// Returns true if provisioning opened `intent`, as opposed to a job or a copy.
bool is_ours(const state::Intent& intent);

/// Returns true for an open change that gc finishes if it was interrupted. A node that was not
/// reached yet waits for the first command that uses it, and a machine that was given up may or may
/// not appear: neither is such a change.
bool is_unfinished(const state::Intent& intent);

/// Returns the cluster's open intents that provisioning opened.
std::vector<state::Intent> our_intents(const state::Store& store, const state::ClusterId& cluster);

/// Returns the cluster's trials of other places whose tokens may still be repeated: a run was
/// killed before it received the result.
std::vector<state::Intent> unspent_trials(const state::Store& store,
                                          const state::ClusterId& cluster);

void open_cluster_intent(state::Store& store, const state::Cluster& cluster,
                         std::string_view action);
void open_node_intent(state::Store& store, const state::Node& node, std::string_view action);

/// Closes the intents of `action` for the cluster as a whole.
void close_cluster_intents(state::Store& store, const state::Cluster& cluster,
                           std::string_view action);

/// Closes the intents of these nodes to create, delete, replace or meet them.
void close_node_intents(state::Store& store, const state::ClusterId& cluster,
                        std::span<const state::Node> nodes);

}  // namespace fastgpu::provision
