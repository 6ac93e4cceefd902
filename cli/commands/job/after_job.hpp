// Work on this machine once a job has ended: its outputs are copied here, and a command is run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/shared/out_directory.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/job_access.hpp"
#include "launcher/job_file.hpp"
#include "transfer/node_path.hpp"

namespace fastgpu::cli {

struct AfterJobFlags {
  std::vector<transfer::NodePath> fetch;
  std::string fetch_to;
  std::string notify;
};

struct AfterJob {
  std::vector<transfer::NodePath> fetch{};  ///< Paths on the nodes.
  /// The directory here that gets DIR/ID; absent if nothing is fetched.
  std::optional<OutDirectory> fetch_to{};
  std::string notify{};  ///< A line for the shell; empty for none.
  int errors = -1;       ///< The descriptor for the output of that line; -1 for stderr. Borrowed.

  bool is_empty() const noexcept { return fetch.empty() && notify.empty(); }
};

/// Adds --fetch, --fetch-to and --notify.
void describe_after_job(Arguments& arguments, AfterJobFlags& flags);

/// Returns what the flags, or else the job file, ask for. Throws usage for --fetch-to alone, and as
/// OutDirectory does for a directory that cannot be written to.
AfterJob after_job_of(const AfterJobFlags& flags, const launcher::JobFile& file);

/// Returns a path of a job on its nodes: relative ones start where the job runs, and those that
/// begin with "~/" at the home directory.
std::string path_in_job(const launcher::JobSpec& spec, const std::string& run,
                        const transfer::NodePath& path);

/// Runs the command if the job of this command has ended without a run that could be followed, as
/// one that was cancelled in the queue.
void finish_without_outputs(Context& context, const AfterJob& wanted);

/// Copies the outputs and runs the command. Returns the exit code: that of the job, 1 if the job
/// ended well and an output is missing, or 130 if the copy was interrupted. Failures are warnings.
int finish_after_job(Context& context, const std::string& job_id, const AfterJob& wanted, int code);

}  // namespace fastgpu::cli
