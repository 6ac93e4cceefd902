#include "provision/journal.hpp"

#include <array>
#include <set>
#include <string>

#include "base/contains.hpp"

namespace fastgpu::provision {

bool is_ours(const state::Intent& intent) {
  constexpr std::array kOurs = {kCreateCluster, kDeleteCluster, kCreateNode,
                                kDeleteNode,    kReplaceNode,   kTryPlace,
                                kLateMachine,   kStartCluster,  kStopCluster};
  return contains(kOurs, intent.action);
}

bool is_unfinished(const state::Intent& intent) {
  return intent.action != kMeetNode && intent.action != kLateMachine;
}

std::vector<state::Intent> our_intents(const state::Store& store, const state::ClusterId& cluster) {
  std::vector<state::Intent> intents = store.open_intents(cluster);
  std::erase_if(intents, [](const state::Intent& intent) { return !is_ours(intent); });
  return intents;
}

std::vector<state::Intent> unspent_trials(const state::Store& store,
                                          const state::ClusterId& cluster) {
  std::vector<state::Intent> intents = store.open_intents(cluster);
  std::erase_if(intents, [](const state::Intent& intent) {
    return intent.action != kTryPlace || intent.token.empty();
  });
  return intents;
}

void open_cluster_intent(state::Store& store, const state::Cluster& cluster,
                         std::string_view action) {
  store.open_intent({.id = {},
                     .cluster = cluster.id,
                     .action = std::string(action),
                     .subject = cluster.name.value,
                     .token = {}});
}

void open_node_intent(state::Store& store, const state::Node& node, std::string_view action) {
  store.open_intent({.id = {},
                     .cluster = node.cluster,
                     .action = std::string(action),
                     .subject = node.name.value,
                     .token = node.token});
}

void close_cluster_intents(state::Store& store, const state::Cluster& cluster,
                           std::string_view action) {
  store.atomically([&] {
    for (const state::Intent& intent : store.open_intents(cluster.id))
      if (intent.action == action) store.close_intent(intent.id);
  });
}

void close_node_intents(state::Store& store, const state::ClusterId& cluster,
                        std::span<const state::Node> nodes) {
  std::set<std::string> names;
  for (const state::Node& node : nodes)
    names.insert(node.name.value);
  store.atomically([&] {
    for (const state::Intent& intent : store.open_intents(cluster)) {
      const bool is_of_node = intent.action == kCreateNode || intent.action == kDeleteNode ||
                              intent.action == kReplaceNode || intent.action == kMeetNode;
      if (is_of_node && names.contains(intent.subject)) store.close_intent(intent.id);
    }
  });
}

}  // namespace fastgpu::provision
