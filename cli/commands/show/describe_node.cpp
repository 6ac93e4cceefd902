#include <chrono>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/descriptions.hpp"
#include "cli/commands/show/shown_state.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {

Action make_describe_node_command(Arguments& arguments) {
  const auto options =
      describe_name(arguments, "The node, or CLUSTER/NODE", Values::node, Need::required);
  return [options](Context& context) {
    state::Node node = find_node(context, options->name);
    const auto cluster = context.store().find_cluster(node.cluster);
    ClusterAndNodes shown;
    if (cluster) shown = as_it_is(context, *cluster);
    for (const state::Node& found : shown.nodes)
      if (found.index == node.index) node = found;
    Json fields = to_json(node);
    fields["cluster"] = cluster ? cluster->name.value : "";
    if (cluster) fields.update(machine_fields(*cluster));
    View view = view_of_one("node", fields, node.name.value);
    view.described = description_of(node, shown, std::chrono::system_clock::now());
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
