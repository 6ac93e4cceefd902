#include "cli/workflows/contact.hpp"

#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/first_contact.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {

namespace {

/// Returns `nodes`, and the head node if they are reached through it.
std::vector<state::Node> with_head(const state::Store& store, const state::Cluster& cluster,
                                   std::span<const state::Node> nodes) {
  std::vector<state::Node> all(nodes.begin(), nodes.end());
  const std::vector<state::Node> known = store.nodes(cluster.id);
  if (has_head_alone(cluster) && !known.empty() && known.front().state == state::NodeState::running)
    all.push_back(known.front());
  return all;
}

}  // namespace

bool complete_first_contact(Services& services, const provision::Tools& tools,
                            const state::Cluster& cluster, std::span<const state::Node> nodes) {
  if (provision::unmet_nodes(services.store(), cluster.id).empty()) {
    // The cloud refused the mark, or the head node the record, when the nodes were met.
    if (provision::is_cloud(cluster.provider) && !is_published(services, cluster.id))
      publish_record(services, cluster.name);
    return false;
  }
  const std::vector<state::Node> needed = with_head(services.store(), cluster, nodes);
  if (!provision::meet_nodes(tools, cluster.name, needed)) return false;
  keep_guards(services, cluster.name, GuardUpdate::changed);
  publish_record(services, cluster.name);
  return true;
}

bool complete_first_contact(Services& services, const provision::Tools& tools,
                            const state::Cluster& cluster) {
  return complete_first_contact(services, tools, cluster, services.store().nodes(cluster.id));
}

void contact_guard_nodes(Services& services, const provision::Tools& tools,
                         const state::Cluster& cluster) {
  if (!nodes_hold_guards(services, cluster)) return;
  try {
    complete_first_contact(services, tools, cluster);
  } catch (const Error& e) {
    services.cancel().check();
    // A cluster that its guard has ended has no nodes to contact. Only the record changes.
    if (guard_status_of(services.store(), cluster, std::chrono::system_clock::now()).ended) return;
    throw e.during("the guards of " + cluster.name.value +
                   " are unchanged: its nodes enforce them and cannot be reached yet");
  }
}

}  // namespace fastgpu::cli
