#include "cli/commands/job/job_input.hpp"

#include <unistd.h>

#include <string>

#include "base/error.hpp"
#include "cli/commands/shared/standard_input.hpp"

namespace fastgpu::cli {
namespace {

/// Returns rank0, all or none; empty if neither the flags nor the job file have one.
std::string requested_input(const RunJobOptions& options, const launcher::JobFile& file) {
  return options.input.empty() ? file.stdin_to.value_or("") : options.input;
}

/// Returns the jobs that have no standard input, of which this is one; empty if it may have one.
std::string kind_without_input(const launcher::JobSpec& spec, JobKind kind) {
  if (kind == JobKind::array) return "the jobs of an array have";
  if (spec.engine == launcher::EngineKind::slurm) return "a job in Slurm's queue has";
  if (spec.engine == launcher::EngineKind::kubernetes) return "a job in Kubernetes has";
  if (spec.presence == launcher::Presence::detached) return "a job with --detach has";
  return spec.retries > 0 ? "a job with --retry has" : "";
}

}  // namespace

bool wants_input(const RunJobOptions& options, const launcher::JobFile& file) {
  const std::string wanted = requested_input(options, file);
  return !wanted.empty() && wanted != "none";
}

std::unique_ptr<remote::SharedInput> open_input(const RunJobOptions& options,
                                                const launcher::JobFile& file,
                                                launcher::JobRecord& record) {
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  const std::string wanted = requested_input(options, file);
  if (is_detached && wants_input(options, file))
    throw Error(ErrorKind::usage,
                "run job: a detached job has no standard input (--stdin " + wanted + ")");
  const bool has_queue = record.spec.engine != launcher::EngineKind::mpirun;
  if (wanted == "none" || is_detached || has_queue || options.file == "-" ||
      !is_passed_on(STDIN_FILENO))
    return nullptr;
  record.spec.input = wanted == "all" ? launcher::Input::all : launcher::Input::rank_0;
  const bool to_all = record.spec.input == launcher::Input::all;
  return std::make_unique<remote::SharedInput>(STDIN_FILENO, to_all ? record.placement.size() : 1);
}

void check_input_of_retries(const RunJobOptions& options, const launcher::JobFile& file,
                            const launcher::JobSpec& spec) {
  if (spec.retries > 0 && wants_input(options, file))
    throw Error(ErrorKind::usage, "run job: a job with --retry has no standard input (--stdin " +
                                      requested_input(options, file) +
                                      "): it could not be read again");
}

void warn_of_unread_input(Messages& messages, const RunJobOptions& options,
                          const launcher::JobFile& file, const launcher::JobSpec& spec,
                          JobKind kind) {
  const std::string who = kind_without_input(spec, kind);
  if (who.empty() || options.file == "-" || requested_input(options, file) == "none") return;
  if (has_something_to_read(STDIN_FILENO))
    messages.warn("standard input is not read: " + who +
                  " none; copy a file with --sync, or write --stdin none if this is meant");
}

void check_input_of_array(const RunJobOptions& options, const launcher::JobFile& file) {
  if (wants_input(options, file))
    throw Error(ErrorKind::usage, "run job: the jobs of an array have no standard input (--stdin " +
                                      requested_input(options, file) + ")");
}

}  // namespace fastgpu::cli
