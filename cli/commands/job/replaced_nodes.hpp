// New machines for lost nodes of a cluster in a cloud, ready for a job that is started again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/program/context.hpp"
#include "launcher/job.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Makes new machines for the nodes of a cluster in a cloud that are lost, under the same names,
/// and gives them the environment of the job. Starts nodes that are stopped_alone(). Asks the cloud
/// for the nodes' states; the others stay unchanged. Returns the nodes that were lost or stopped
/// and run now. Throws as provision::replace_lost_nodes() and start_cluster(), remote if the
/// environment cannot be copied, and conflict, with the remedy, if all nodes are stopped.
std::vector<NodeName> replace_for_job(Context& context, const state::Cluster& cluster,
                                      const launcher::JobSpec& spec);

/// Returns the stopped ones of a cluster's nodes, unless all are stopped: a user stops a whole
/// cluster, and single nodes are stopped by their cloud or from within.
std::vector<std::string> stopped_alone(const std::vector<state::Node>& nodes);

/// Returns the environment of the cluster in which the program runs; "" for none.
std::string environment_of_program(const std::vector<std::string>& argv,
                                   const std::vector<std::pair<std::string, std::string>>& runners);

}  // namespace fastgpu::cli
