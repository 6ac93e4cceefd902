#include "cli/commands/commands.hpp"
#include "cli/commands/show/shown_state.hpp"

namespace fastgpu::cli {

Action make_get_nodes_command(Arguments& arguments) {
  arguments.offer_table();
  const auto options =
      describe_name(arguments, "A cluster, or CLUSTER/NODES (all)", Values::target, Need::optional);
  return [options](Context& context) {
    context.ui().show(view_of_nodes(wanted_nodes(context, options->name)));
    return 0;
  };
}

}  // namespace fastgpu::cli
