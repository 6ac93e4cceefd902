#include "cli/commands/job/recorded_job.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "cli/workflows/foreign_job.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {

std::shared_ptr<JobOptions> describe_job(Arguments& arguments) {
  auto options = std::make_shared<JobOptions>();
  Argument& job =
      arguments.text("JOB", "", "The job; a name without a number is its newest run", options->job);
  job.required = true;
  job.values = Values::job;
  describe_foreign(arguments, options->cluster);
  return options;
}

void describe_foreign(Arguments& arguments, std::string& cluster) {
  Argument& flag = arguments.text("--cluster", "NAME",
                                  "Find a job there that another machine has started", cluster);
  flag.letter = "-c";
  flag.values = Values::cluster;
}

void find_foreign(Context& context, const std::string& job, const std::string& cluster) {
  if (!cluster.empty()) record_foreign_job(context, job, cluster);
}

void describe_tail(Arguments& arguments, JobOptions& options) {
  arguments.count("--tail", "N", "Start with the last N lines of each rank", options.tail, 0,
                  kMostLines);
}

std::optional<agent::Tail> tail_of(const JobOptions& options) {
  if (!options.tail) return std::nullopt;
  return agent::Tail{static_cast<std::uint64_t>(*options.tail)};
}

OpenJob open_settled(Context& context, const std::string& name) {
  context.set_job(find_job(context, name).id);
  OpenJob open = open_job(context, name);
  const auto nodes = context.store().nodes(open.cluster.id);
  const bool has_all_nodes =
      std::ranges::all_of(open.record.placement, [&](const launcher::NodeRanks& ranks) {
        return contains(nodes, ranks.node, &state::Node::name);
      });
  const bool is_unconfirmed = open.job.state == state::JobState::starting &&
                              open.record.engine_job.id.empty();  // It may not have been started.
  if (open.cluster.state == state::ClusterState::stopped || !has_all_nodes || is_unconfirmed)
    open.job = refresh_job(context, open.job);
  open.record = *open.job.record;
  return open;
}

OpenJob open_for_outcome(Context& context, const state::Job& job) {
  if (is_in_kubernetes(job) || context.store().find_cluster(job.cluster))
    return open_settled(context, job.id);
  context.set_job(job.id);
  const state::Job now = refresh_job(context, job);
  return {now, *now.record, {}};
}

}  // namespace fastgpu::cli
