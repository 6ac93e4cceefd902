// Clusters, nodes and jobs as they are now, for get and describe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/show/job_views.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {

struct NameOption {
  std::string name;
};

/// Adds NAME, which must be given.
std::shared_ptr<NameOption> describe_name(Arguments& arguments, std::string_view help,
                                          Values values);

/// Adds NAME, which may be given several times, and returns the names: empty for all.
std::shared_ptr<std::vector<std::string>> describe_names(Arguments& arguments,
                                                         std::string_view help, Values values);

/// Returns the cluster in its provider's present view, or, if that cannot be asked, its last known
/// state, with a warning.
ClusterAndNodes as_it_is(Context& context, const state::Cluster& cluster);

/// Puts the running nodes that have not answered into `shown`, as commands have found them.
void note_silences(Context& context, ClusterAndNodes& shown);

/// Returns the named clusters, each once, or all of them without a name.
std::vector<ClusterAndNodes> wanted_clusters(Context& context,
                                             const std::vector<std::string>& names);

/// Returns the clusters in the targets, each with the nodes in it; all without a target.
std::vector<ClusterAndNodes> wanted_nodes(Context& context,
                                          const std::vector<std::string>& targets);

/// Returns the named jobs and those of named arrays, each once, or all of them without a name, in
/// their nodes' present view. Leaves out those of other clusters than `cluster`, unless it is
/// empty. Throws not_found if there is no such cluster.
std::vector<JobAndCluster> wanted_jobs(Context& context, const std::vector<std::string>& names,
                                       const std::string& cluster = "");

/// Returns the table of the same jobs. Reads the records of jobs that have ended for `all` columns
/// alone, and no more of them than the columns show.
View table_of_jobs(Context& context, const std::vector<std::string>& names,
                   const std::string& cluster, JobColumns columns);

}  // namespace fastgpu::cli
