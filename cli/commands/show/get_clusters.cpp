#include <chrono>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/shown_state.hpp"

namespace fastgpu::cli {

Action make_get_clusters_command(Arguments& arguments) {
  arguments.offer_table();
  const auto names = describe_names(arguments, "Show only these (all)", Values::cluster);
  return [names](Context& context) {
    const auto clusters = wanted_clusters(context, *names);
    context.ui().show(view_of(clusters, std::chrono::system_clock::now()));
    return 0;
  };
}

}  // namespace fastgpu::cli
