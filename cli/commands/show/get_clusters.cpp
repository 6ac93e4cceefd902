#include <chrono>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/shown_state.hpp"

namespace fastgpu::cli {

Action make_get_clusters_command(Arguments& arguments) {
  arguments.offer_table();
  const auto options =
      describe_name(arguments, "Show only this one", Values::cluster, Need::optional);
  return [options](Context& context) {
    const auto clusters = wanted_clusters(context, options->name);
    context.ui().show(view_of(clusters, std::chrono::system_clock::now()));
    return 0;
  };
}

}  // namespace fastgpu::cli
