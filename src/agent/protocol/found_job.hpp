// A job as a node has it: for a machine that did not start the job.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "agent/protocol/plan.hpp"

namespace fastgpu::agent {

struct FoundJob {
  JobPlan ranks;         ///< The plan of the ranks on this node, without variables.
  int restarts = 0;      ///< How often the job was started again; the plan is that of the last run.
  bool is_head = false;  ///< The node has the supervisor. Only it knows the following.
  bool has_lease = false;  ///< The machine that started the job must show signs of life.
  bool is_plain = false;   ///< The ranks are started without mpirun.
  std::chrono::milliseconds timeout{0};
};

std::string to_text(const FoundJob& job);
FoundJob parse_found_job(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
