#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/shown_state.hpp"
#include "cli/workflows/job_queue.hpp"

namespace fastgpu::cli {
namespace {

ViewParts wanted_parts(const Ui& ui) {
  if (ui.wants_document()) return ViewParts::all;
  return ui.wants_wide_columns() ? ViewParts::wide_table : ViewParts::table;
}

void add_waits(Context& context, std::vector<JobAndCluster>& shown) {
  std::vector<state::Job> jobs;
  for (const JobAndCluster& one : shown)
    jobs.push_back(one.job);
  auto waits = waits_of(context, jobs);
  for (std::size_t i = 0; i < shown.size(); ++i)
    shown[i].waits_for = std::move(waits[i]);
}

}  // namespace

Action make_get_jobs_command(Arguments& arguments) {
  arguments.offer_table();
  const auto options = describe_name(arguments, "Show only this one", Values::job, Need::optional);
  const auto cluster = std::make_shared<std::string>();
  Argument& flag =
      arguments.text("--cluster", "NAME", "Show only the jobs of this cluster", *cluster);
  flag.letter = "-c";
  flag.values = Values::cluster;
  return [options, cluster](Context& context) {
    auto jobs = wanted_jobs(context, options->name, *cluster);
    const ViewParts parts = wanted_parts(context.ui());
    if (parts != ViewParts::table) add_waits(context, jobs);
    context.ui().show(view_of(jobs, std::chrono::system_clock::now(), parts));
    return 0;
  };
}

}  // namespace fastgpu::cli
