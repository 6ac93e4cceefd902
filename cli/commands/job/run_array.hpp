// run job --array: records the jobs of an array, and runs each when its turn comes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/array.hpp"
#include "launcher/job.hpp"
#include "launcher/job_file.hpp"

namespace fastgpu::cli {

struct ArrayFlags {
  std::string range;
  std::string parameters;
};

/// Adds --array and --parameters.
void describe_array(Arguments& arguments, ArrayFlags& flags);

/// An array as the user requests it.
struct ArrayPlan {
  std::vector<launcher::ArrayElement> elements;
  std::size_t limit = 0;  ///< This many jobs run at once.
};

/// Returns the array of the flags, or else of the job file; absent if neither has one. Throws usage
/// for a wrong range or a wrong file of parameters.
std::optional<ArrayPlan> array_plan(const ArrayFlags& flags, const launcher::JobFile& file);

/// Returns true if the flags or the job file ask for an array.
bool wants_array(const ArrayFlags& flags, const launcher::JobFile& file);

struct ArrayRun {
  ArrayPlan plan;
  launcher::JobRecord record;  ///< The record of each job, without its element.
  std::string job_file;        ///< The text of the job file; empty without a job file.
  bool is_in_background = false;
};

/// Records the array and runs its jobs, each by a process of its own, until all have ended. Returns
/// the exit code of the first one in the order of their indices that did not succeed.
int run_array(Context& context, const RemoteTarget& target, const ArrayRun& run);

/// Shows how to follow a detached array. Returns 0.
int show_detached_array(Context& context, const std::string& id);

/// Records the failure of the job of an array that this process runs.
void fail_element(Context& context, const std::string& id, const Error& error);

}  // namespace fastgpu::cli
