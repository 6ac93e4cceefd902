// Names of states in the database, in tables and in JSON.
#pragma once

#include <string_view>

#include "state/model.hpp"

namespace fastgpu::state {

std::string_view to_string(ClusterState state);
std::string_view to_string(NodeState state);
std::string_view to_string(JobState state);
std::string_view to_string(Launcher launcher);
std::string_view to_string(EndsNeeded ends);
std::string_view to_string(JobEndCause cause);
std::string_view to_string(Outputs outputs);
std::string_view to_string(EngineKind engine);
std::string_view to_string(RankUnit unit);
std::string_view to_string(Scheduler scheduler);

/// Parses a state. Throws ErrorKind::local for any other word.
ClusterState parse_cluster_state(std::string_view word);
NodeState parse_node_state(std::string_view word);
JobState parse_job_state(std::string_view word);
Launcher parse_launcher(std::string_view word);
EndsNeeded parse_ends_needed(std::string_view word);
JobEndCause parse_end_cause(std::string_view word);
Outputs parse_outputs(std::string_view word);
EngineKind parse_engine(std::string_view word);
RankUnit parse_rank_unit(std::string_view word);
Scheduler parse_scheduler(std::string_view word);

}  // namespace fastgpu::state
