// Nodes that have not answered, and how jobs do without them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/workflows/remote_target.hpp"
#include "cli/workflows/services.hpp"
#include "launcher/job.hpp"
#include "launcher/job_outcome.hpp"
#include "state/silence.hpp"

namespace fastgpu::cli {

/// Returns the note on a node that has not answered; absent for one that has, and for one that does
/// not run.
std::optional<state::Silence> silence_of(Services& services, const state::Node& node);

/// Notes the nodes that a job has lost and that did not answer this machine.
void note_unanswered(Services& services, const state::ClusterId& cluster,
                     const launcher::JobOutcome& outcome);

/// Returns the names of the nodes that have not answered. First asks those again that were not
/// asked within the last half minute, for a few seconds: a node that answers again is as any other.
std::vector<NodeName> silent_nodes(Services& services, const RemoteTarget& target);

/// Asks the nodes of these names, for a few seconds, and returns those that do not answer. A node
/// that refuses the login has answered.
std::vector<NodeName> nodes_without_answer(Services& services, const RemoteTarget& target,
                                           const std::vector<NodeName>& names);

/// Leaves out the nodes of a new job that do not answer, with a note to the user, if its ranks fit
/// on the others. Otherwise the job needs them, and its start finds out.
void leave_out_silent(Services& services, RemoteTarget& target, const launcher::JobSpec& spec);

/// Returns how to start a job without nodes that do not answer: "; to leave n1 out: -H n0,n2 (2
/// slots)"; empty if the cluster has no other nodes that run.
std::string words_to_leave_out(Services& services, const state::Cluster& cluster,
                               const std::vector<NodeName>& silent);

}  // namespace fastgpu::cli
