#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/job/gradient_variables.hpp"
#include "cli/commands/job/job_input.hpp"
#include "cli/commands/job/job_nodes.hpp"
#include "cli/commands/job/job_plan.hpp"
#include "cli/commands/job/job_request.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_retries.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/commands/job/own_command.hpp"
#include "cli/commands/job/post_mortem.hpp"
#include "cli/commands/job/recovery_options.hpp"
#include "cli/commands/job/run_array.hpp"
#include "cli/commands/job/run_job_options.hpp"
#include "cli/commands/job/start_advice.hpp"
#include "cli/commands/job/topology_placement.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/kubernetes_access.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "launcher/engines/mpijob.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/job.hpp"
#include "launcher/job_file.hpp"
#include "launcher/job_store.hpp"
#include "launcher/process_names.hpp"
#include "launcher/recovery.hpp"
#include "process/command.hpp"
#include "remote/shared_input.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the names of assignments.
std::set<std::string> assigned_names(const std::vector<std::string>& assignments) {
  std::set<std::string> names;
  for (const std::string& assignment : assignments)
    names.insert(assignment.substr(0, assignment.find('=')));
  return names;
}

/// Returns "4 ranks on 2 nodes".
std::string places_of(const launcher::JobRecord& record) {
  const std::string size = launcher::size_text(record.placement);
  if (!record.engine_job.id.empty())
    return size + ", job " + record.engine_job.id + " of " +
           std::string(to_string(record.spec.engine));
  return size + " on " + counted(record.placement.size(), "node");
}

/// Returns the ids of the jobs and arrays to start after. A name is its newest run.
std::vector<std::string> ids_of(Context& context, const RunJobOptions& options,
                                const launcher::JobFile& file) {
  std::vector<std::string> ids;
  for (const std::string& name : options.after.empty() ? file.after : options.after)
    ids.push_back(find_run(context, name));
  return ids;
}

/// Starts this command again as a process of its own, which waits for the job's turn, and shows the
/// job. Returns the exit code.
int wait_in_background(Context& context, const RunJobOptions& options) {
  if (options.file == "-")
    throw Error(
        ErrorKind::usage,
        "run job: a job whose file comes from standard input cannot wait in the background, for "
        "slots or for its end: write it to a file, or leave --detach out");
  const BackgroundAnswer answer = start_in_background();
  if (answer.id.empty()) return show_failure(context, answer);
  const std::string& id = answer.id;
  context.set_job(id);
  const auto job = context.store().find_job(id);
  if (!job) throw Error(ErrorKind::internal, "the job of the queue is not on record: " + id);
  const std::string names = words_for(turn_now(context, *job));
  if (!names.empty()) context.ui().note("job " + id + " waits for " + names);
  return show_detached(context, *job);
}

/// Starts this command again in the background, where it runs the array, and shows the array.
int run_array_in_background(Context& context, const RunJobOptions& options) {
  if (options.file == "-")
    throw Error(ErrorKind::usage,
                "run job: the file of a detached array cannot come from standard input: write it "
                "to a file, or leave --detach out");
  const BackgroundAnswer answer = start_in_background();
  if (answer.id.empty()) return show_failure(context, answer);
  context.set_job(answer.id);
  return show_detached_array(context, answer.id);
}

/// The surroundings of a job's run.
struct RunSurroundings {
  remote::SharedInput* input = nullptr;  ///< The input of ranks; null for none.
  FindTarget find_target{};
  std::optional<OutDirectory> post_mortem{};  ///< The directory for bundles; absent for none.
  std::set<std::string> secrets{};            ///< The names of secret variables.
  AfterJob after{};

  /// Returns the flags for what is done here once the job has ended.
  std::vector<std::string> flags_at_end() const {
    std::vector<std::string> flags;
    if (!after.fetch.empty()) flags.emplace_back("--fetch");
    if (!after.notify.empty()) flags.emplace_back("--notify");
    if (post_mortem) flags.emplace_back(launcher::kPostMortemFlag);
    return flags;
  }

  /// Returns true if a fastgpu must be there when the job ends.
  bool wants_end() const { return !flags_at_end().empty(); }
};

/// Returns the effect of a cancel on a job that is followed here.
launcher::OnCancel on_cancel_of(const launcher::JobSpec& spec) {
  return spec.presence == launcher::Presence::detached ? launcher::OnCancel::leave_job
                                                       : launcher::OnCancel::stop_job;
}

/// Follows a job that has been started to its end. Returns the exit code.
int follow_one(Context& context, StartedJob& started, const RunSurroundings& around,
               std::function<state::Job(const state::Job&)> before_shown) {
  const launcher::JobSpec& spec = started.open.record.spec;
  const bool is_detached = spec.presence == launcher::Presence::detached;
  const bool is_silent = is_detached || context.environment()(kInArray);
  FollowOptions request{.on_cancel = on_cancel_of(spec),
                        .labels = RankLabels::shown,
                        .output = !is_silent,
                        .input = around.input,
                        .before_shown = std::move(before_shown)};
  if (spec.retries == 0) return follow_job(context, *started.engine, started.open, request);
  return follow_with_retries(context, started, around.find_target, std::move(request),
                             [&](const state::Job& failed) {
                               if (!around.post_mortem || context.cancel().requested()) return;
                               OpenJob run = started.open;
                               run.job = failed;
                               write_post_mortem_of_run(context, run,
                                                        {.directory = *around.post_mortem,
                                                         .assignments = spec.environment,
                                                         .secrets = around.secrets});
                             });
}

/// Shows what to do if the program could not be started.
void advise(Context& context, const launcher::JobSpec& spec, const EndOfStart& end) {
  const std::string advice = start_advice(spec, end, [](const std::string& path) {
    std::error_code none;
    return std::filesystem::is_regular_file(path, none);
  });
  if (!advice.empty()) context.ui().note(advice);
}

/// Starts the job and follows it to its end. Returns the exit code. Sets `is_finished` once the
/// work after the job has begun.
int run_to_end(Context& context, const RemoteTarget& target, launcher::JobRecord record,
               const RunSurroundings& around, bool& is_finished) {
  if (record.spec.retries > 0)
    process::set_variable(record.spec.environment, "FASTGPU_RESTART_COUNT=0");
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  const auto element = context.environment()(kInArray);
  const auto report = [&](const state::Job& job) { report_and_leave(context, job.id); };
  StartedJob started = element       ? start_element(context, target, record, *element)
                       : is_in_queue ? start_job(context, target, record, report)
                                     : start_job(context, target, record);
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  if (is_detached && !needs_follower(record.spec) && !around.wants_end())
    return show_detached(context, started.open.job);
  try {
    started.engine = engine_to_follow(context, target.cluster, started.open.record);
  } catch (const Error& e) {
    throw left_behind(context, started.open, on_cancel_of(record.spec), e);
  }
  context.ui().note("job " + started.open.job.id + ": " + places_of(started.open.record));
  std::optional<int> finished;
  // A script gets one document, which knows whether the outputs are here.
  const auto finish = [&](const state::Job& job) {
    if (context.ui().for_people() || around.after.is_empty()) return job;
    is_finished = true;
    finished =
        finish_after_job(context, started.open.job.id, around.after, job.exit_code.value_or(1));
    return find_job(context, started.open.job.id);
  };
  const int code = follow_one(context, started, around, finish);
  const bool is_bad = code != 0 && !context.cancel().requested();
  if (is_bad && !is_detached)
    advise(context, record.spec,
           {.code = code, .reason = find_job(context, started.open.job.id).reason});
  if (around.post_mortem && !is_bad)
    launcher::note_bundle(context.store(), started.open.job.id, {});
  if (is_bad && around.post_mortem) {
    context.set_stop_notice("stopping the post-mortem; job " + started.open.job.id + " has ended");
    write_post_mortem(context, started.open.job.id,
                      {.directory = *around.post_mortem,
                       .assignments = record.spec.environment,
                       .secrets = around.secrets});
  }
  if (finished || around.after.is_empty()) return finished.value_or(code);
  is_finished = true;
  return finish_after_job(context, started.open.job.id, around.after, code);
}

/// Runs the job. The command of --notify also runs for a job that ends before its turn.
int run_one(Context& context, const RemoteTarget& target, launcher::JobRecord record,
            const RunSurroundings& around) {
  bool is_finished = false;
  try {
    return run_to_end(context, target, std::move(record), around, is_finished);
  } catch (const Error&) {
    if (!is_finished) finish_without_outputs(context, around.after);
    throw;
  }
}

/// Makes the specification that of the job of an array which this process runs.
void become_element(Context& context, const std::string& id, launcher::JobSpec& spec) {
  const state::Job job = find_job(context, id);
  for (const std::string& assignment : variables_of_element(job))
    process::set_variable(spec.environment, assignment);
  launcher::validate(spec);
  spec.array = job.record->spec.array;
  spec.after = job.record->spec.after;
}

/// Throws usage if the parameters of the array cannot be variables of the job.
void check_parameters(const ArrayPlan& array, launcher::JobSpec spec) {
  for (const std::string& assignment : array.elements.front().variables)
    process::set_variable(spec.environment, assignment);
  launcher::validate(spec);
}

/// Runs a job by itself, whose nodes are known: here, or in the background until its turn.
int run_placed(Context& context, const RunJobOptions& options, const launcher::JobFile& file,
               const RemoteTarget& target, launcher::JobRecord record, RunSurroundings around) {
  record.spec.at_end = around.flags_at_end();
  if (!around.after.fetch.empty()) record.outputs = state::Outputs::awaited;
  record.bundle_awaited = around.post_mortem.has_value();
  const bool is_element = context.environment()(kInArray).has_value();
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  const bool has_input = !is_element && record.spec.retries == 0;
  const auto input = has_input ? open_input(options, file, record) : nullptr;
  const bool waits = needs_follower(record.spec) || around.wants_end() ||
                     !new_job(context, target, record).turn.waits_for.empty();
  if (is_detached && !is_in_queue && !is_element && waits)
    return wait_in_background(context, options);
  around.input = input.get();
  return run_one(context, target, std::move(record), around);
}

/// Plans or runs a job that needs no cluster of fastgpu.
int run_in_kubernetes(Context& context, const RunJobOptions& options, const launcher::JobFile& file,
                      launcher::JobSpec spec) {
  const auto access = kubernetes_access(context, spec.kubernetes);
  // Later commands go to the same place, whatever the current context is then.
  spec.kubernetes.context = access.context;
  spec.kubernetes.name_space = access.name_space;
  const int ranks = launcher::mpijob_size(spec).ranks;
  launcher::JobRecord record{.spec = std::move(spec),
                             .placement = {{.node = {"kubernetes"}, .first = 0, .count = ranks}}};
  record.spec.after = ids_of(context, options, file);
  const RemoteTarget nowhere{.cluster = {}, .nodes = {}, .hosts = {}};
  if (options.dry_run) return show_job_plan(context, nowhere, record, std::nullopt);
  if (!context.environment()(kInQueue))
    warn_of_unread_input(context.messages(), options, file, record.spec, JobKind::single);
  return run_placed(context, options, file, nowhere, std::move(record),
                    {.after = after_job_of(options.after_job, file)});
}

/// Returns what is done around the job here. Throws as after_job_of() and OutDirectory do. Borrows
/// all but `secrets`.
RunSurroundings surroundings_of(Context& context, const RunJobOptions& options,
                                const launcher::JobFile& file,
                                const std::vector<std::string>& secrets, const UniqueFd& errors) {
  RunSurroundings around{
      .find_target = [&] { return target_of_job(context, options, file, Absent::left_out); },
      .secrets = assigned_names(secrets),
      .after = after_job_of(options.after_job, file)};
  around.after.errors = errors.get();
  if (!options.post_mortem.empty())
    around.post_mortem.emplace("run job: --post-mortem", options.post_mortem);
  return around;
}

int run_here(Context& context, const RunJobOptions& options, const UniqueFd& errors) {
  const std::string text = job_file_text(context, options);
  const launcher::JobFile file = job_file_of(options, text);
  const std::vector<std::string> secrets = secrets_of(options, file, context.environment());
  launcher::JobSpec spec = requested_spec(options, file, secrets, context.environment());
  if (spec.engine == launcher::EngineKind::kubernetes)
    return run_in_kubernetes(context, options, file, std::move(spec));
  const auto element = context.environment()(kInArray);
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  const bool is_detached = spec.presence == launcher::Presence::detached;
  const bool is_array = !element && wants_array(options.array, file);
  if (!element && !is_in_queue && !options.dry_run)
    warn_of_unread_input(context.messages(), options, file, spec,
                         is_array ? JobKind::array : JobKind::single);
  if (is_array && is_detached && !is_in_queue && !options.dry_run)
    return run_array_in_background(context, options);
  std::optional<ArrayPlan> array;
  if (is_array) array = array_plan(options.array, file);
  if (array) check_parameters(*array, spec);
  if (element) become_element(context, *element, spec);
  RunSurroundings around = surroundings_of(context, options, file, secrets, errors);
  RemoteTarget target = element ? target_of_element(context, options, file, spec)
                                : target_of_job(context, options, file);
  if (options.engine.empty() && !file.engine && has_own_slurm(target.cluster))
    context.ui().note("Slurm does not know of this job: --engine slurm gives it to Slurm");
  add_gradient_variables(target.cluster, spec.environment);
  leave_out_silent(context, target, spec);
  read_topologies(context, target, spec);
  EnvCluster cluster(context, std::move(target));
  launcher::JobRecord record = spec.engine == launcher::EngineKind::mpirun
                                   ? placed_on(context, cluster.target(), spec)
                                   : submitted_on(cluster.target(), spec);
  if (!element) record.spec.after = ids_of(context, options, file);
  if (spec.launcher == launcher::Launcher::torchrun) record = launcher::with_torchrun(record);
  enter_environment(wanted_environment(options, file, cluster.record().active), cluster, record);
  if (options.check) record.choice.reset();  // The nodes that were checked.
  if (options.check && !is_in_queue && !element)
    require_sound_nodes(context, cluster.target(), record);
  if (options.dry_run) return show_job_plan(context, cluster.target(), record, array);
  if (array || element) check_input_of_array(options, file);
  if (array)
    return run_array(context, cluster.target(),
                     {.plan = std::move(*array),
                      .record = std::move(record),
                      .job_file = text,
                      .is_in_background = is_in_queue});
  check_input_of_retries(options, file, spec);
  return run_placed(context, options, file, cluster.target(), std::move(record), std::move(around));
}

int run(Context& context, const RunJobOptions& options) {
  try {
    const UniqueFd errors = array_errors(context);
    return run_here(context, options, errors);
  } catch (const launcher::JobMayRun&) {
    throw;  // The array's process finds out what has become of it.
  } catch (const Error& e) {
    if (const auto element = context.environment()(kInArray)) fail_element(context, *element, e);
    throw;
  }
}

}  // namespace

Action make_run_job_command(Arguments& arguments) {
  auto options = std::make_shared<RunJobOptions>();
  describe_run_job(arguments, *options);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
