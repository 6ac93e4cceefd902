// The jobs that a command would end, to be shown in its question.
#pragma once

#include <string>
#include <vector>

#include "cli/program/context.hpp"

namespace fastgpu::cli {

enum class JobSource : std::uint8_t {
  nodes,   ///< Asks the nodes about unfinished jobs, and records their answers.
  record,  ///< Reads only the record, and changes nothing.
};

/// Returns the ids of the cluster's unfinished jobs on `nodes`, the oldest first.
std::vector<std::string> running_jobs(Context& context, const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes, JobSource source);

/// Returns "2 jobs run on it: train-1, train-2"; "" without jobs. Names only the first few of many
/// jobs.
std::string jobs_text(const std::vector<std::string>& jobs);

}  // namespace fastgpu::cli
