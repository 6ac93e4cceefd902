#include "cli/commands/show/shown_state.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/kubernetes_access.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "launcher/job_store.hpp"
#include "provision/lifecycle.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

GuardStatus guard_status_now(Context& context, const state::Cluster& cluster) {
  return guard_status_of(context.store(), cluster, std::chrono::system_clock::now());
}

/// Warns that the nodes of a job do not answer. If one of them is stopped, that is the reason
/// shown: asks the cloud once.
void warn_of_silence(Context& context, const state::Job& job, const std::string& silence) {
  context.clouds().give_up_soon();
  const auto absent = absence_of_nodes(context, open_job(context, job.id));
  context.ui().warn(job.id +
                    ": showing the last known state: " + (absent ? absent->what() : silence));
}

/// The looks of one command at its jobs.
class JobLooks {
 public:
  explicit JobLooks(Context& context) : context_(context) {}

  /// Returns the job as its nodes see it now, or its last known state, with a warning, if they do
  /// not answer. A Kubernetes that cannot be asked is not asked again, and one warning is enough.
  state::Job now(state::Job job) {
    if (launcher::has_ended(job)) return job;
    const bool is_there = is_in_kubernetes(job);
    if (is_there && out_of_reach_.contains(job.record->spec.kubernetes.context)) return job;
    try {
      SeenJob seen = look_at_job(context_, job);
      if (!seen.silence.empty()) warn_of_silence(context_, seen.job, seen.silence);
      return std::move(seen.job);
    } catch (const Error& e) {
      context_.cancel().check();
      const bool is_of_all = is_there && is_out_of_reach(e);
      if (is_of_all) out_of_reach_.insert(job.record->spec.kubernetes.context);
      context_.ui().warn((is_of_all ? "jobs in Kubernetes" : job.id) +
                         ": showing the last known state: " + e.what());
      return job;
    }
  }

 private:
  Context& context_;
  std::set<std::string> out_of_reach_{};  ///< Contexts of the kubeconfig.
};

}  // namespace

std::shared_ptr<NameOption> describe_name(Arguments& arguments, std::string_view help,
                                          Values values) {
  auto options = std::make_shared<NameOption>();
  Argument& name = arguments.text("NAME", "", help, options->name);
  name.values = values;
  name.required = true;
  return options;
}

std::shared_ptr<std::vector<std::string>> describe_names(Arguments& arguments,
                                                         std::string_view help, Values values) {
  auto names = std::make_shared<std::vector<std::string>>();
  arguments.list("NAME", "", help, *names).values = values;
  return names;
}

void note_silences(Context& context, ClusterAndNodes& shown) {
  shown.silences.clear();
  for (const state::Node& node : shown.nodes)
    if (auto silence = silence_of(context, node))
      shown.silences.emplace(node.name, std::move(*silence));
}

namespace {

/// Returns the cluster without its silences.
ClusterAndNodes looked_up(Context& context, const state::Cluster& cluster) {
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

}  // namespace

ClusterAndNodes as_it_is(Context& context, const state::Cluster& cluster) {
  ClusterAndNodes shown = looked_up(context, cluster);
  note_silences(context, shown);
  return shown;
}

std::vector<ClusterAndNodes> wanted_clusters(Context& context,
                                             const std::vector<std::string>& names) {
  std::vector<state::Cluster> clusters;
  for (const std::string& name : names) {
    state::Cluster cluster = find_cluster(context, name);
    if (!contains(clusters, cluster.id, &state::Cluster::id))
      clusters.push_back(std::move(cluster));
  }
  if (names.empty()) clusters = context.store().clusters();
  std::vector<ClusterAndNodes> out;
  for (const state::Cluster& cluster : clusters)
    out.push_back(as_it_is(context, cluster));
  return out;
}

std::vector<ClusterAndNodes> wanted_nodes(Context& context,
                                          const std::vector<std::string>& targets) {
  if (targets.empty()) return wanted_clusters(context, {});
  std::vector<ClusterAndNodes> out;
  for (const std::string& target : targets) {
    const auto [name, node_set] = find_target(context, target);
    ClusterAndNodes found = as_it_is(context, find_cluster(context, name));
    if (!node_set.empty()) found.nodes = find_nodes(context, found.cluster, node_set);
    out.push_back(std::move(found));
  }
  return out;
}

namespace {

/// The names of the clusters that there are; empty for one that is deleted.
class ClusterNames {
 public:
  explicit ClusterNames(Context& context) {
    for (const state::Cluster& cluster : context.store().clusters())
      names_[cluster.id] = cluster.name.value;
  }
  std::string of(const state::ClusterId& id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? "" : found->second;
  }

 private:
  std::map<state::ClusterId, std::string> names_{};
};

/// Fills a table with jobs, each in its nodes' present view.
class JobsOfTable {
 public:
  JobsOfTable(Context& context, JobColumns columns)
      : context_(context),
        columns_(columns),
        table_(std::chrono::system_clock::now(), columns),
        names_(context),
        looks_(context) {}

  void add(const std::vector<JobAndCluster>& jobs) {
    for (const JobAndCluster& shown : jobs) {
      table_.add(row_of(shown));
      keep_if_queued(table_.size() - 1, shown);
    }
  }

  /// Adds all jobs, or those of a cluster. Asks the nodes of those alone that have not ended.
  void add_recorded(const std::optional<state::ClusterId>& cluster) {
    std::vector<std::pair<std::size_t, std::string>> open;
    const auto parts = columns_ == JobColumns::all ? state::JobLineParts::row_and_request
                                                   : state::JobLineParts::row;
    context_.store().for_each_job_line(parts, cluster, [&](state::JobLine&& line) {
      if (!launcher::has_ended(line.state)) open.emplace_back(table_.size(), line.id);
      std::string name = names_.of(line.cluster);
      const std::string_view word = state::to_string(line.state);
      table_.add({std::move(line), word, std::move(name)});
    });
    for (const auto& [index, id] : open)
      if (auto job = context_.store().find_job(id)) show_now(index, std::move(*job));
  }

  View take() {
    if (columns_ == JobColumns::all) show_waits();
    return std::move(table_).take();
  }

 private:
  void show_now(std::size_t index, state::Job job) {
    std::string name = names_.of(job.cluster);
    const JobAndCluster shown{looks_.now(std::move(job)), std::move(name)};
    table_.replace(index, row_of(shown));
    keep_if_queued(index, shown);
  }

  void keep_if_queued(std::size_t index, const JobAndCluster& shown) {
    if (shown.job.state != state::JobState::queued) return;
    places_.push_back(index);
    queued_.push_back(shown);
  }

  void show_waits() {
    std::vector<state::Job> jobs;
    for (const JobAndCluster& shown : queued_)
      jobs.push_back(shown.job);
    auto turns = turns_of(context_, jobs);
    for (std::size_t i = 0; i < queued_.size(); ++i) {
      queued_[i].turn = std::move(turns[i]);
      table_.replace(places_[i], row_of(queued_[i]));
    }
  }

  Context& context_;
  JobColumns columns_;
  JobTable table_;
  ClusterNames names_;
  JobLooks looks_;
  std::vector<JobAndCluster> queued_{};
  std::vector<std::size_t> places_{};  ///< The rows of `queued_`.
};

}  // namespace

std::vector<JobAndCluster> wanted_jobs(Context& context, const std::vector<std::string>& names,
                                       const std::string& cluster) {
  const ClusterNames clusters(context);
  std::vector<state::Job> jobs;
  for (const std::string& name : names)
    for (state::Job& job : find_jobs(context, name))
      if (!contains(jobs, job.id, &state::Job::id)) jobs.push_back(std::move(job));
  if (names.empty()) jobs = context.store().jobs();
  if (!cluster.empty()) {
    const state::ClusterId wanted = find_cluster(context, cluster).id;
    std::erase_if(jobs, [&](const state::Job& job) { return job.cluster != wanted; });
  }
  std::vector<JobAndCluster> out;
  out.reserve(jobs.size());
  JobLooks looks(context);
  for (state::Job& job : jobs) {
    std::string name_of_cluster = clusters.of(job.cluster);
    out.push_back({looks.now(std::move(job)), std::move(name_of_cluster)});
  }
  return out;
}

View table_of_jobs(Context& context, const std::vector<std::string>& names,
                   const std::string& cluster, JobColumns columns) {
  JobsOfTable jobs(context, columns);
  if (!names.empty()) {
    jobs.add(wanted_jobs(context, names, cluster));
  } else {
    std::optional<state::ClusterId> only;
    if (!cluster.empty()) only = find_cluster(context, cluster).id;
    jobs.add_recorded(only);
  }
  return jobs.take();
}

}  // namespace fastgpu::cli
