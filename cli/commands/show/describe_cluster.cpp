#include <algorithm>
#include <chrono>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/descriptions.hpp"
#include "cli/commands/show/shown_state.hpp"
#include "provision/journal.hpp"
#include "provision/unmet_nodes.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the cost of one node so far, in the cluster's currency; null if it is unknown.
Json cost_json(const GuardStatus& status, const state::Node& node) {
  const auto cost = cost_of(status, node, std::chrono::system_clock::now());
  return cost ? Json(cost->amount) : Json();
}

}  // namespace

Action make_describe_cluster_command(Arguments& arguments) {
  const auto options = describe_name(arguments, "The cluster", Values::cluster);
  return [options](Context& context) {
    const ClusterAndNodes shown = wanted_clusters(context, {options->name}).front();
    const auto& [cluster, nodes, status, notices, owner, silences] = shown;
    Json fields = cluster_fields(shown);
    fields["nodes"] = Json::array();
    for (const state::Node& node : nodes) {
      fields["nodes"].push_back(to_json(node));
      fields["nodes"].back().update(silence_fields(shown, node));
      fields["nodes"].back()["cost_so_far"] = cost_json(status, node);
    }
    const auto intents = context.store().open_intents(cluster.id);
    const OpenChanges open{
        .unfinished =
            static_cast<std::size_t>(std::ranges::count_if(intents, provision::is_unfinished)),
        .late_machines = static_cast<std::size_t>(
            std::ranges::count(intents, provision::kLateMachine, &state::Intent::action)),
        .unmet_nodes = provision::unmet_nodes(context.store(), cluster.id).size()};
    fields["open_intents"] = open.unfinished;
    View view = view_of_one("cluster", fields, cluster.name.value);
    view.described =
        description_of(shown, context.store().jobs(), open, std::chrono::system_clock::now());
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
