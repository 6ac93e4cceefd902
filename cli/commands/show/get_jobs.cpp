#include <chrono>
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/shown_state.hpp"

namespace fastgpu::cli {

Action make_get_jobs_command(Arguments& arguments) {
  arguments.offer_table();
  const auto options = describe_name(arguments, "Show only this one", Values::job, Need::optional);
  const auto cluster = std::make_shared<std::string>();
  Argument& flag =
      arguments.text("--cluster", "NAME", "Show only the jobs of this cluster", *cluster);
  flag.letter = "-c";
  flag.values = Values::cluster;
  return [options, cluster](Context& context) {
    const auto jobs = wanted_jobs(context, options->name, *cluster);
    const ViewParts parts = context.ui().wants_document() ? ViewParts::all : ViewParts::table;
    context.ui().show(view_of(jobs, std::chrono::system_clock::now(), parts));
    return 0;
  };
}

}  // namespace fastgpu::cli
