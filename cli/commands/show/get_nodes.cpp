#include "cli/commands/commands.hpp"
#include "cli/commands/show/shown_state.hpp"

namespace fastgpu::cli {

Action make_get_nodes_command(Arguments& arguments) {
  arguments.offer_table();
  const auto targets =
      describe_names(arguments, "Clusters, or CLUSTER/NODES (all)", Values::target);
  return [targets](Context& context) {
    context.ui().show(view_of_nodes(wanted_nodes(context, *targets)));
    return 0;
  };
}

}  // namespace fastgpu::cli
