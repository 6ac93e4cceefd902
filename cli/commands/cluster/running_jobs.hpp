// The jobs that a command would end, for its question.
#pragma once

#include <string>
#include <vector>

#include "cli/program/context.hpp"

namespace fastgpu::cli {

enum class JobSource : std::uint8_t {
  nodes,   ///< Asks the nodes of jobs on record as unfinished; their answers are recorded.
  record,  ///< Reads the record alone, and changes nothing.
};

/// Returns the ids of the unfinished jobs on these nodes of a cluster, the oldest first.
std::vector<std::string> running_jobs(Context& context, const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes, JobSource source);

/// Returns "2 jobs run on it: train-1, train-2"; empty without jobs. The first few of many are
/// named.
std::string jobs_text(const std::vector<std::string>& jobs);

}  // namespace fastgpu::cli
