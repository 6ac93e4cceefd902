#include "cli/commands/job/after_job.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/utf8.hpp"
#include "cli/commands/job/own_command.hpp"
#include "cli/commands/shared/node_path_flag.hpp"
#include "cli/commands/shared/not_copied.hpp"
#include "cli/program/app.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/lookup.hpp"
#include "launcher/job.hpp"
#include "launcher/job_store.hpp"
#include "process/child.hpp"
#include "remote/copy.hpp"
#include "state/words.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::minutes kNotifyTimeout{1};

/// Returns the nodes of the job that are still in the cluster, and warns of the others.
std::vector<ssh::Host> hosts_with_outputs(Context& context, const OpenJob& open) {
  const auto nodes = context.store().nodes(open.cluster.id);
  const ClusterHosts where(context.store(), open.cluster);
  std::vector<ssh::Host> hosts;
  for (const launcher::NodeRanks& ranks : open.record.placement) {
    const auto node = std::ranges::find(nodes, ranks.node, &state::Node::name);
    if (node != nodes.end())
      hosts.push_back(where.of(*node));
    else
      context.ui().warn("nothing is fetched from " + ranks.node.value +
                        ", which is no longer in the cluster");
  }
  return hosts;
}

remote::CopyOptions fetch_options(Context& context) {
  remote::CopyOptions options;
  options.connect_timeout = context.settings().duration("connect-timeout");
  options.silence = context.settings().duration("answer-timeout");
  return options;
}

/// Copies one path. A node may lack it if another one has it. Returns the first thing that is
/// missing; empty for none.
std::string fetch_path(Context& context, const std::vector<ssh::Host>& hosts,
                       const std::string& path, const std::filesystem::path& place) {
  const auto results = remote::copy_from(context.ssh(), hosts, {path}, place, context.agent(),
                                         fetch_options(context), nullptr, context.cancel());
  const bool is_somewhere = std::ranges::any_of(results, [](const auto& one) { return one.ok(); });
  std::string missing;
  for (const auto& result : results) {
    if (result.ok() || (is_somewhere && result.error().kind() == ErrorKind::not_found)) continue;
    context.cancel().check();
    const std::string text = "not fetched to " + place.string() + ": " +
                             escaped(result.error().what(), Layout::one_line);
    context.ui().warn(text);
    if (missing.empty()) missing = text;
  }
  if (warn_of_not_copied(context, results) != 0 && missing.empty())
    missing = "some files of " + path + " were not copied";
  return missing;
}

/// Copies all paths. Returns the first thing that is missing; empty for none.
std::string fetch_outputs(Context& context, const std::string& job_id, const AfterJob& wanted) try {
  const OpenJob open = open_job(context, job_id);
  const std::vector<ssh::Host> hosts = hosts_with_outputs(context, open);
  const std::filesystem::path place = wanted.fetch_to->path() / job_id;
  context.ui().progress("copying the outputs of job " + job_id);
  make_directories(place);
  std::string missing;
  if (hosts.size() < open.record.placement.size())
    missing = "nothing was fetched from nodes that are no longer in the cluster";
  for (const transfer::NodePath& path : wanted.fetch) {
    const std::string there = path_in_job(open.record.spec, open.run(), path);
    const std::string lacks = fetch_path(context, hosts, there, place);
    if (missing.empty()) missing = lacks;
  }
  std::error_code is_in_use;
  std::filesystem::remove(place, is_in_use);  // Only if nothing was fetched.
  context.ui().end_progress();
  if (missing.empty()) context.ui().note("outputs of job " + job_id + ": " + place.string());
  return missing;
} catch (const std::exception& e) {
  context.ui().end_progress();
  if (context.cancel().requested()) return "the copy of its outputs was interrupted";
  const std::string why = " not fetched: " + escaped(e.what(), Layout::one_line);
  context.ui().warn("the outputs of job " + job_id + " are" + why);
  return "its outputs are" + why;
}

/// Copies all paths, and records whether they are here. Returns true if nothing is missing.
bool fetch_and_record(Context& context, const std::string& job_id, const AfterJob& wanted) {
  fault_point("outputs:awaited");
  const std::string missing = fetch_outputs(context, job_id, wanted);
  launcher::note_outputs(context.store(), job_id,
                         missing.empty() ? state::Outputs::fetched : state::Outputs::incomplete,
                         missing);
  return missing.empty();
}

/// Runs the command with the job in its environment. A command that hangs is ended. Returns the
/// failure; empty for a success.
std::string notify(const state::Job& job, const AfterJob& wanted) try {
  // The standard output of this program is for what a script reads, such as JSON.
  process::Command shell{.argv = {"/bin/sh", "-c", "exec >&2\n" + wanted.notify},
                         .in = {.mode = process::StreamMode::null}};
  shell.grouping = process::Grouping::group;
  shell.err.fd = wanted.errors;
  shell.environment = environment_of_others();
  const std::array variables = {
      "JOB_ID=" + job.id, "JOB_STATE=" + std::string(state::to_string(job.state)),
      "JOB_EXIT_CODE=" + (job.exit_code ? std::to_string(*job.exit_code) : ""),
      "JOB_REASON=" + job.reason};
  for (const std::string& assignment : variables)
    process::set_variable(*shell.environment, assignment);
  process::Child child(shell);
  const auto status = child.wait_for(kNotifyTimeout, nullptr);
  if (!status) return "the command of --notify was ended after a minute";
  return status->shell_code() == 0 ? "" : "the command of --notify " + describe(*status);
} catch (const Error& e) {
  return "the command of --notify was not run: " + escaped(e.what(), Layout::one_line);
}

/// Runs the command, and warns and records if it fails.
void notify_and_record(Context& context, const std::string& job_id, const AfterJob& wanted) {
  const std::string failure = notify(find_job(context, job_id), wanted);
  if (failure.empty()) return;
  context.ui().warn(failure);
  launcher::note_not_done(context.store(), job_id, failure);
}

/// Runs the command as its own step, which a signal skips.
void notify_at_end(Context& context, const std::string& job_id, const AfterJob& wanted) {
  if (wanted.notify.empty()) return;
  const std::string ended = "job " + job_id + " has ended";
  context.set_stop_notice("waiting for the command of --notify; " + ended +
                          "; press Ctrl-C again to exit at once");
  context.set_interrupt_hint("left the command of --notify; " + ended);
  notify_and_record(context, job_id, wanted);
}

}  // namespace

void describe_after_job(Arguments& arguments, AfterJobFlags& flags) {
  describe_node_paths(arguments, "--fetch", "PATH",
                      "Copy this file or directory of the nodes here when the job has ended",
                      flags.fetch);
  arguments
      .text("--fetch-to", "DIR", "Directory for DIR/JOB, which gets what is fetched (.)",
            flags.fetch_to)
      .values = Values::path;
  arguments.text("--notify", "COMMAND",
                 "Run this line of the shell here when the job has ended, with JOB_ID, JOB_STATE, "
                 "JOB_EXIT_CODE and JOB_REASON",
                 flags.notify);
}

AfterJob after_job_of(const AfterJobFlags& flags, const launcher::JobFile& file) {
  AfterJob wanted{.fetch = flags.fetch.empty() ? file.fetch : flags.fetch,
                  .notify = flags.notify.empty() ? file.notify.value_or("") : flags.notify};
  const std::string place = flags.fetch_to.empty() ? file.fetch_to.value_or("") : flags.fetch_to;
  if (!place.empty() && wanted.fetch.empty())
    throw Error(ErrorKind::usage,
                "run job: nothing is fetched: name it with --fetch, beside "
                "--fetch-to");
  if (wanted.fetch.empty()) return wanted;
  std::vector<std::string> sources;
  for (const transfer::NodePath& path : wanted.fetch)
    sources.push_back(path.value);
  try {
    transfer::require_distinct_names(sources);
  } catch (const Error& e) {
    throw e.during("run job: --fetch (fetch)");
  }
  wanted.fetch_to.emplace("run job: --fetch-to", place.empty() ? "." : place);
  return wanted;
}

std::string path_in_job(const launcher::JobSpec& spec, const std::string& run,
                        const transfer::NodePath& path) {
  const bool is_copied = spec.directory.empty() && !spec.sync.empty();
  const std::string base = is_copied ? launcher::job_work_directory(run) : spec.directory;
  return transfer::node_path_in({base}, path).value;
}

void finish_without_outputs(Context& context, const AfterJob& wanted) {
  const auto job = context.store().find_job(context.job());
  if (job && launcher::has_ended(*job)) notify_at_end(context, job->id, wanted);
}

int finish_after_job(Context& context, const std::string& job_id, const AfterJob& wanted,
                     int code) {
  const bool may_fetch = !wanted.fetch.empty() && !context.cancel().requested();
  const std::string ended = "job " + job_id + " has ended";
  if (may_fetch) {
    context.set_stop_notice("stopping the copy of the outputs; " + ended);
    context.set_interrupt_hint("the outputs are copied in part at most; " + ended);
  }
  const bool is_complete = !may_fetch || fetch_and_record(context, job_id, wanted);
  const bool is_interrupted = !is_complete && context.cancel().requested();
  if (is_interrupted)
    context.ui().warn("interrupted: the outputs of job " + job_id + " are not complete in " +
                      (wanted.fetch_to->path() / job_id).string());
  notify_at_end(context, job_id, wanted);
  if (is_interrupted) return exit_code(ErrorKind::interrupted);
  return code == 0 && !is_complete ? 1 : code;
}

}  // namespace fastgpu::cli
