#include "cli/commands/shared/cluster_options.hpp"

#include "cli/commands/show/views.hpp"

namespace fastgpu::cli {

void describe_limits(Arguments& arguments, ClusterOptions& options) {
  arguments.duration("--timeout", "Give up after this long (10m)", options.timeout);
  shared(arguments.duration("--wait",
                            "Wait this long for another fastgpu that works on this cluster (10s)",
                            options.wait));
}

Argument& describe_cluster_options(Arguments& arguments, ClusterOptions& options) {
  Argument& name = arguments.text("NAME", "", "The cluster", options.name);
  name.required = true;
  name.values = Values::cluster;
  describe_limits(arguments, options);
  return name;
}

provision::Tools tools_for(Context& context, const ClusterOptions& options) {
  provision::Tools tools = context.tools();
  tools.deadline = tools.clock.now() + options.timeout.value_or(kDefaultTimeout);
  tools.lock_timeout = options.wait.value_or(context.settings().duration("wait"));
  const auto all = in_time(context, tools.deadline, [&] { return provision::settle(tools); });
  for (const provision::Settled& settled : all) {
    const std::string line = settled.cluster + ": " + settled.what;
    if (settled.outcome.ok())
      context.ui().note(line);
    else
      context.ui().warn(line + ": " + settled.outcome.error().what());
  }
  return tools;
}

void show_cluster(Context& context, const provision::ClusterView& view) {
  const std::vector<ClusterAndNodes> one = {{view.cluster, view.nodes}};
  View shown = view_of_nodes(one);
  shown.root = document("cluster");
  shown.root.update(to_json(view.cluster));
  shown.root["nodes"] = Json::array();
  for (const state::Node& node : view.nodes)
    shown.root["nodes"].push_back(to_json(node));
  shown.names = {view.cluster.name.value};
  context.ui().show(shown);
}

}  // namespace fastgpu::cli
