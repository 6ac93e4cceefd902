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

void add_waits(Context& context, std::vector<JobAndCluster>& shown) {
  std::vector<state::Job> jobs;
  for (const JobAndCluster& one : shown)
    jobs.push_back(one.job);
  auto turns = turns_of(context, jobs);
  for (std::size_t i = 0; i < shown.size(); ++i)
    shown[i].turn = std::move(turns[i]);
}

void show_document(Context& context, std::vector<JobAndCluster> jobs) {
  add_waits(context, jobs);
  const auto parts = context.ui().wants_wide_columns() ? ViewParts::all : ViewParts::document;
  context.ui().show(view_of(jobs, std::chrono::system_clock::now(), parts));
}

}  // namespace

Action make_get_jobs_command(Arguments& arguments) {
  arguments.offer_table();
  const auto names = describe_names(arguments, "Show only these (all)", Values::job);
  const auto cluster = std::make_shared<std::string>();
  Argument& flag =
      arguments.text("--cluster", "NAME", "Show only the jobs of this cluster", *cluster);
  flag.letter = "-c";
  flag.values = Values::cluster;
  return [names, cluster](Context& context) {
    const auto columns = context.ui().wants_wide_columns() ? JobColumns::all : JobColumns::usual;
    if (context.ui().wants_document())
      show_document(context, wanted_jobs(context, *names, *cluster));
    else
      context.ui().show(table_of_jobs(context, *names, *cluster, columns));
    return 0;
  };
}

}  // namespace fastgpu::cli
