#include "provision/unmet_nodes.hpp"

#include <chrono>

#include "provision/journal.hpp"
#include "provision/observe.hpp"

namespace fastgpu::provision {

std::set<NodeName> unmet_nodes(const state::Store& store, const state::ClusterId& cluster) {
  std::set<NodeName> unmet;
  for (const state::Intent& intent : store.open_intents(cluster))
    if (intent.action == kMeetNode) unmet.insert({intent.subject});
  return unmet;
}

std::set<NodeName> just_asked_for(const state::Store& store, const state::ClusterId& cluster) {
  const auto now = std::chrono::system_clock::now();
  std::set<NodeName> names;
  for (const state::Intent& intent : store.open_intents(cluster))
    if ((intent.action == kMeetNode || intent.action == kCreateNode ||
         intent.action == kReplaceNode) &&
        now - intent.opened < kUnlistedAtMost)
      names.insert({intent.subject});
  return names;
}

}  // namespace fastgpu::provision
