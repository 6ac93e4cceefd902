// The common part of start, stop, rename, scale and delete: operations on clusters that exist.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/cluster/running_jobs.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

struct ChangeOptions : ClusterOptions {
  std::vector<std::string> names;  ///< Set by the commands that take several clusters.
  bool all = false;
  std::string new_name;
  std::optional<int> nodes;
  bool replace_lost = false;
  bool accept_host_keys = false;
  bool yes = false;
  bool forget = false;
  bool dry_run = false;
};

using Nodes = std::vector<state::Node>;
using Names = std::vector<std::string>;

/// Adds NAME, the limits and --dry-run.
std::shared_ptr<ChangeOptions> describe_one_cluster(Arguments& arguments);
/// Adds NAME, which may be given several times, --all, the limits and --dry-run.
std::shared_ptr<ChangeOptions> describe_several_clusters(Arguments& arguments);

/// Returns the named clusters, each once, or all of them. Throws ErrorKind::usage, beginning with
/// `command`, for neither names nor --all, and for both; not_found if one of the names is unknown:
/// all are looked up before anything is done to the first.
Names wanted_names(Context& context, const ChangeOptions& options, const std::string& command);

/// Returns the clusters that still exist among wanted_names(). One that another command has deleted
/// meanwhile is skipped here, because it gets a result of its own later.
std::vector<state::Cluster> known_clusters(Context& context, const Names& names);

/// Calls `act` for each cluster, even after a failure, and shows the results in a document of that
/// `kind`: `done`, or the failure. Returns the exit code of the worst.
int for_each_cluster(Context& context, const Names& names, std::string_view kind,
                     const std::string& done, const std::function<void(const std::string&)>& act);

/// Adds a step "<what> <node>" for each node.
void add_steps(std::vector<std::string>& steps, const std::string& what, const Nodes& nodes);
/// The effect of an operation on jobs that wait for nodes.
enum class QueuedJobs : std::uint8_t { end, stay };

/// Adds the end of each job that is on record as running on `nodes`, or waits for them and ends.
void add_job_steps(Context& context, std::vector<std::string>& steps, const state::Cluster& cluster,
                   const Nodes& nodes, QueuedJobs queued);

/// Notes which jobs, as they are on record, end with what a user has consented to before: `doing`
/// is "deleting the cluster". Without consent, the question names them.
void note_jobs_that_end(Context& context, const state::Cluster& cluster, const Nodes& nodes,
                        QueuedJobs queued, const std::string& doing);

/// Adds the restoration of each of `nodes` of which an image is being made.
void add_bake_steps(Context& context, std::vector<std::string>& steps,
                    const state::Cluster& cluster, const Nodes& nodes);

Nodes in_state(const Nodes& nodes, state::NodeState state);

/// Suggests the commands that give new nodes the environments of the others.
void show_environments_to_bring(Context& context, const state::Cluster& cluster);

/// A cluster that an operation affects, with its nodes and its unfinished jobs.
struct Affected {
  state::Cluster cluster;
  Nodes nodes;
  UnfinishedJobs jobs;
};
std::vector<Affected> affected_by(Context& context, const Names& names);

/// Returns "Delete cluster a (2 nodes)?" or "Delete 2 clusters: a (2 nodes), b (1 node)?".
std::string question_of(const std::string& verb, const std::vector<Affected>& affected);

}  // namespace fastgpu::cli
