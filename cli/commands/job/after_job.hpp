// Work on this machine once a job has ended: its outputs are copied here, and a command is run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/job_access.hpp"
#include "launcher/job_file.hpp"

namespace fastgpu::cli {

struct AfterJobFlags {
  std::vector<std::string> fetch;
  std::string fetch_to;
  std::string notify;
};

struct AfterJob {
  std::vector<std::string> fetch{};     ///< Paths on the nodes.
  std::filesystem::path fetch_to{"."};  ///< The directory here that gets DIR/ID.
  std::string notify{};                 ///< A line for the shell; empty for none.

  bool is_empty() const noexcept { return fetch.empty() && notify.empty(); }
};

/// Adds --fetch, --fetch-to and --notify.
void describe_after_job(Arguments& arguments, AfterJobFlags& flags);

/// Returns what the flags, or else the job file, ask for. Throws usage for --fetch-to alone.
AfterJob after_job_of(const AfterJobFlags& flags, const launcher::JobFile& file);

/// Returns a path of a job on its nodes: relative ones start where the job runs.
std::string path_in_job(const launcher::JobSpec& spec, const std::string& run,
                        const std::string& path);

/// Copies the outputs and runs the command. Returns the exit code: that of the job, or 1 if the job
/// ended well and an output is missing. Failures are warnings.
int finish_after_job(Context& context, const std::string& job_id, const AfterJob& wanted, int code);

}  // namespace fastgpu::cli
