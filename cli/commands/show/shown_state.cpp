#include "cli/commands/show/shown_state.hpp"

#include <chrono>
#include <map>

#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "launcher/job_store.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {
namespace {

GuardStatus guard_status_now(Context& context, const state::Cluster& cluster) {
  return guard_status_of(context.store(), cluster, std::chrono::system_clock::now());
}

/// Returns the job as its nodes see it now, or its last known state, with a warning, if they do not
/// answer.
state::Job now(Context& context, state::Job job) {
  if (launcher::has_ended(job)) return job;
  try {
    return refresh_job(context, job);
  } catch (const Error& e) {
    context.cancel().check();
    context.ui().warn(job.id + ": showing the last known state: " + e.what());
    return job;
  }
}

}  // namespace

std::shared_ptr<NameOption> describe_name(Arguments& arguments, std::string_view help,
                                          Values values, Need need) {
  auto options = std::make_shared<NameOption>();
  Argument& name = arguments.text("NAME", "", help, options->name);
  name.values = values;
  name.required = need == Need::required;
  return options;
}

ClusterAndNodes as_it_is(Context& context, const state::Cluster& cluster) {
  context.clouds().give_up_soon();
  try {
    provision::ClusterView view = provision::refresh_cluster(context.tools(), cluster.name);
    const GuardStatus status = guard_status_now(context, view.cluster);
    auto notices = notices_of(context, view.cluster, view.nodes);
    for (const Notice& notice : notices)
      warn_of(context.messages(), notice);
    return {std::move(view.cluster), std::move(view.nodes), status, std::move(notices),
            std::move(view.owner)};
  } catch (const Error& e) {
    context.cancel().check();
    context.ui().warn(cluster.name.value + ": showing the last known state: " + e.what());
    return {cluster, context.store().nodes(cluster.id), guard_status_now(context, cluster)};
  }
}

std::vector<ClusterAndNodes> wanted_clusters(Context& context, const std::string& name) {
  if (!name.empty()) return {as_it_is(context, find_cluster(context, name))};
  std::vector<ClusterAndNodes> out;
  for (const state::Cluster& cluster : context.store().clusters())
    out.push_back(as_it_is(context, cluster));
  return out;
}

std::vector<ClusterAndNodes> wanted_nodes(Context& context, const std::string& target) {
  if (target.empty()) return wanted_clusters(context, "");
  const auto [name, node_set] = find_target(context, target);
  auto found = wanted_clusters(context, name);
  if (!node_set.empty()) found.front().nodes = find_nodes(context, found.front().cluster, node_set);
  return found;
}

std::vector<JobAndCluster> wanted_jobs(Context& context, const std::string& name,
                                       const std::string& cluster) {
  std::map<std::string, std::string> names;
  for (const state::Cluster& cluster : context.store().clusters())
    names[cluster.id.value] = cluster.name.value;
  std::vector<state::Job> jobs;
  if (name.empty())
    jobs = context.store().jobs();
  else
    jobs = find_jobs(context, name);
  if (!cluster.empty()) {
    const state::ClusterId wanted = find_cluster(context, cluster).id;
    std::erase_if(jobs, [&](const state::Job& job) { return job.cluster != wanted; });
  }
  std::vector<JobAndCluster> out;
  out.reserve(jobs.size());
  for (state::Job& job : jobs) {
    const auto found = names.find(job.cluster.value);
    out.push_back({now(context, std::move(job)), found == names.end() ? "" : found->second});
  }
  return out;
}

}  // namespace fastgpu::cli
