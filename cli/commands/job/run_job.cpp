#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/join.hpp"
#include "base/json.hpp"
#include "base/unique_fd.hpp"
#include "cli/commands/cluster/check_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_retries.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/commands/job/own_command.hpp"
#include "cli/commands/job/post_mortem.hpp"
#include "cli/commands/job/recovery_options.hpp"
#include "cli/commands/job/run_array.hpp"
#include "cli/commands/job/topology_placement.hpp"
#include "cli/commands/shared/program_variables.hpp"
#include "cli/commands/shared/standard_input.hpp"
#include "cli/ui/yaml.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/kubernetes_access.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/binding.hpp"
#include "launcher/engine_features.hpp"
#include "launcher/engines/mpijob.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/host_list.hpp"
#include "launcher/job_file.hpp"
#include "launcher/placement.hpp"
#include "process/command.hpp"
#include "state/record_text.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostJobRanks = 100'000;

struct RunJobOptions {
  std::string name;
  std::string cluster;
  std::string file;
  std::vector<std::string> set;
  std::optional<int> ranks;
  std::optional<int> per_node;
  std::string per;
  std::string hosts;
  std::string engine;
  std::string launcher;
  std::string input;
  VariableFlags variables;
  std::vector<std::string> exported;
  std::vector<std::string> secrets;
  std::string environment;
  bool no_environment = false;
  std::string sync;
  std::string directory;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> grace;
  bool keep_processes = false;
  bool detach = false;
  bool oversubscribe = false;
  bool share = false;
  std::optional<int> priority;
  std::vector<std::string> after;
  bool check = false;
  ArrayFlags array;
  RecoveryFlags recovery;
  std::string post_mortem;
  bool dry_run = false;
  std::vector<std::string> program;
};

/// Returns the text of the job file; empty without a job file. The process of an array's job gets
/// it as standard input: the file may have changed since the array was recorded.
std::string file_text(Context& context, const RunJobOptions& options) {
  if (options.file.empty()) return {};
  if (context.environment()(kInArray)) return config::read_all(STDIN_FILENO, options.file);
  return config::read_text(options.file);
}

launcher::JobFile job_file_of(const RunJobOptions& options, const std::string& text) {
  config::Document document;
  if (!options.file.empty()) document = config::Document::of_file(text, options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  return launcher::read_job_file(document);
}

/// Returns a job's name made from its program: "train-py" for "./train.py".
std::string name_from(const std::string& program) {
  std::string out;
  for (const char c : program.substr(program.rfind('/') + 1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (is_ascii_digit(c) && !out.empty());
    if (plain)
      out += c;
    else if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  out = out.substr(0, 30);
  while (out.ends_with('-'))
    out.pop_back();
  return out.empty() ? "job" : out;
}

/// Makes the ranks run in the chosen or the active environment. Throws if it is incomplete on one
/// of their nodes.
void enter_environment(const RunJobOptions& options, EnvCluster& cluster,
                       launcher::JobRecord& job) {
  if (options.no_environment) return;
  const std::string name =
      options.environment.empty() ? cluster.record().active : options.environment;
  if (name.empty()) return;
  std::vector<NodeName> nodes;
  for (const launcher::NodeRanks& ranks : job.placement)
    nodes.push_back(ranks.node);
  cluster.find(name);
  cluster.require_on(name, nodes);
  job.spec.argv.insert(job.spec.argv.begin(), envs::runner_in(cluster.record(), name));
  job.spec.mpirun_in = envs::programs_in(cluster.record(), name);
}

/// Throws if the directory of --sync cannot be opened, before anything is done on a node.
void check_sync(const std::string& path) {
  if (path.empty()) return;
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) return;
  const std::string what = "run job: --sync " + printable(path);
  if (errno == ENOTDIR) throw Error(ErrorKind::usage, what + " is not a directory");
  if (errno == ENOENT) throw Error(ErrorKind::not_found, what + " does not exist");
  throw system_error(what, errno);
}

/// Returns the variables for the ranks. For a bare NAME that is not set, the error mentions
/// --environment, because NAME may be meant as an environment.
std::vector<std::string> own_variables(const RunJobOptions& options,
                                       const state::Environment& ours) try {
  VariableFlags flags = options.variables;
  flags.given.insert(flags.given.end(), options.exported.begin(), options.exported.end());
  return variables_of(flags, ours);
} catch (const Error& e) {
  for (const std::string& text : options.variables.given) {
    const bool is_unset = text.find('=') == std::string::npos && !ours(text.c_str());
    if (is_unset)
      throw Error(e.kind(), std::string(e.what()) +
                                "; to choose an environment of the cluster use --environment " +
                                printable(text));
  }
  throw;
}

/// Returns the secrets of the file and of --secret as variables.
std::vector<std::string> secrets_of(const RunJobOptions& options, const launcher::JobFile& file,
                                    const state::Environment& ours) {
  std::vector<std::string> variables;
  for (const launcher::JobSecret& secret : file.secrets) {
    const std::string from = secret.file.empty() ? "" : "=@" + secret.file;
    process::set_variable(variables, secret_variable(secret.name + from, ours));
  }
  for (const std::string& text : options.secrets)
    process::set_variable(variables, secret_variable(text, ours));
  return variables;
}

/// Returns the names of assignments.
std::set<std::string> assigned_names(const std::vector<std::string>& assignments) {
  std::set<std::string> names;
  for (const std::string& assignment : assignments)
    names.insert(assignment.substr(0, assignment.find('=')));
  return names;
}

/// Returns the parts of the job that not every engine has.
std::vector<launcher::JobFeature> features_of(const RunJobOptions& options,
                                              const launcher::JobFile& file) {
  using launcher::JobFeature;
  const std::string input = options.input.empty() ? file.stdin_to.value_or("none") : options.input;
  const std::vector<std::pair<bool, JobFeature>> all = {
      {!options.hosts.empty(), JobFeature::hosts},
      {!options.launcher.empty() || file.launcher, JobFeature::launcher},
      {input != "none", JobFeature::input},
      {options.oversubscribe, JobFeature::crowding},
      {options.share || file.share.value_or(false), JobFeature::sharing},
      {options.priority || file.priority, JobFeature::priority},
      {options.keep_processes || file.keep_processes.value_or(false), JobFeature::leftovers},
      {!options.cluster.empty() || file.cluster, JobFeature::cluster},
      {!options.sync.empty() || file.sync, JobFeature::sync},
      {!options.secrets.empty() || !file.secrets.empty(), JobFeature::secrets},
      {!options.environment.empty(), JobFeature::environment},
      {wants_array(options.array, file), JobFeature::array},
      {options.recovery.retries.value_or(file.retry.value_or(0)) > 0, JobFeature::retry},
      {options.recovery.hang_timeout || file.hang_timeout, JobFeature::hang_timeout},
      {!options.recovery.checkpoints.empty() || file.checkpoints, JobFeature::checkpoints},
      {!options.post_mortem.empty(), JobFeature::post_mortem},
      {options.check, JobFeature::check},
      {!options.per.empty() || file.per, JobFeature::rank_unit},
      {file.slurm.has_value(), JobFeature::slurm_settings},
      {file.kubernetes.has_value(), JobFeature::kubernetes_settings}};
  std::vector<JobFeature> asked;
  for (const auto& [is_asked, feature] : all)
    if (is_asked) asked.push_back(feature);
  return asked;
}

/// Returns the specification of the job. Flags win over the file.
launcher::JobSpec spec_of(const RunJobOptions& options, const launcher::JobFile& file,
                          const std::vector<std::string>& variables,
                          const std::vector<std::string>& secrets) {
  launcher::JobSpec spec;
  spec.argv = options.program.empty() ? file.command : options.program;
  if (spec.argv.empty())
    throw Error(
        ErrorKind::usage,
        "run job: the program is missing: put it after --, or write it in the file as 'command'");
  const std::string name =
      options.name.empty() ? file.name.value_or(name_from(spec.argv[0])) : options.name;
  spec.name = parse_job_name(name);
  spec.ranks = options.ranks ? options.ranks : file.np;
  spec.per_node = options.per_node ? options.per_node : file.npernode;
  spec.per = state::parse_rank_unit(options.per.empty() ? file.per.value_or("none") : options.per);
  for (const auto& [key, value] : file.env)
    spec.environment.push_back(key + "=" + value);
  for (const std::string& assignment : variables)
    process::set_variable(spec.environment, assignment);
  for (const std::string& assignment : secrets)
    process::set_variable(spec.environment, assignment);
  spec.launcher = state::parse_launcher(options.launcher.empty() ? file.launcher.value_or("mpirun")
                                                                 : options.launcher);
  spec.sync = options.sync.empty() ? file.sync.value_or("") : options.sync;
  spec.directory = options.directory.empty() ? file.workdir.value_or("") : options.directory;
  if (const auto timeout = options.timeout ? options.timeout : file.timeout) {
    if (timeout->count() == 0)
      throw Error(ErrorKind::usage,
                  "run job: the timeout is 0: give a longer one, or omit it for no timeout");
    spec.timeout = *timeout;
  }
  if (options.detach || file.detach.value_or(false)) spec.presence = launcher::Presence::detached;
  if (const auto grace = options.grace ? options.grace : file.grace) spec.grace = *grace;
  if (options.keep_processes || file.keep_processes.value_or(false))
    spec.leftovers = launcher::Leftovers::kept;
  if (options.share || file.share.value_or(false)) spec.sharing = launcher::Sharing::shared;
  spec.priority = options.priority ? *options.priority : file.priority.value_or(0);
  if (options.oversubscribe) spec.crowding = launcher::Crowding::allowed;
  set_recovery(spec, options.recovery, file);
  spec.engine =
      state::parse_engine(options.engine.empty() ? file.engine.value_or("mpirun") : options.engine);
  spec.slurm = file.slurm.value_or(launcher::SlurmOptions{});
  spec.kubernetes = file.kubernetes.value_or(launcher::KubernetesOptions{});
  launcher::check_features(spec.engine, features_of(options, file));
  launcher::validate(spec);
  check_sync(spec.sync);
  return spec;
}

std::string cluster_of(Context& context, const RunJobOptions& options,
                       const launcher::JobFile& file) {
  return usual_cluster(
      context, options.cluster.empty() ? file.cluster.value_or("") : options.cluster, "run job");
}

/// Returns the record of a job whose nodes the engine chooses: the first node of the target submits
/// it.
launcher::JobRecord submitted_on(const RemoteTarget& target, launcher::JobSpec spec) {
  const int ranks = launcher::slurm_ranks(spec);
  return {.spec = std::move(spec),
          .placement = {{.node = target.nodes.front().name, .first = 0, .count = ranks}}};
}

View view_of(const launcher::JobRecord& record) {
  View view;
  view.root = document("plan");
  view.root["job"] = parse_json<Json>(state::record_text_of(record), "the job's record");
  view.root["price_per_hour"] = 0;
  view.table.columns = {{"NODE"}, {"RANKS"}};
  for (const launcher::NodeRanks& ranks : record.placement) {
    const std::string last = std::to_string(ranks.first + ranks.count - 1);
    const std::string workers =
        ranks.workers > 0 ? " (" + counted(static_cast<std::size_t>(ranks.workers), "worker") + ")"
                          : "";
    view.table.rows.push_back(
        {ranks.node.value, std::to_string(ranks.first) + "-" + last + workers});
    view.names.push_back(ranks.node.value);
  }
  return view;
}

/// Returns our standard input for rank 0 or all ranks, which it notes in the record; null for a
/// detached job, and if the job file was read from standard input.
std::unique_ptr<remote::SharedInput> input_for(const RunJobOptions& options,
                                               const launcher::JobFile& file,
                                               launcher::JobRecord& record) {
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  const std::string wanted = options.input.empty() ? file.stdin_to.value_or("") : options.input;
  if (is_detached && !wanted.empty() && wanted != "none")
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

/// Returns "4 ranks on 2 nodes".
std::string places_of(const launcher::JobRecord& record) {
  const auto ranks = static_cast<std::size_t>(launcher::total_ranks(record.placement));
  if (!record.engine_job.id.empty())
    return counted(ranks, "rank") + ", job " + record.engine_job.id + " of " +
           std::string(to_string(record.spec.engine));
  return counted(ranks, "rank") + " on " + counted(record.placement.size(), "node");
}

/// Returns the nodes to run on. -H names nodes of the cluster, with the slots to use there.
RemoteTarget target_of(Context& context, const RunJobOptions& options,
                       const launcher::JobFile& file) {
  const std::string cluster = cluster_of(context, options, file);
  if (options.hosts.empty()) return running_nodes(context, cluster);
  const auto hosts = launcher::parse_host_list(options.hosts);
  if (cluster.find('/') != std::string::npos)
    throw Error(ErrorKind::usage, "run job: give the nodes by -H or by --cluster, not by both");
  std::string names;
  for (const launcher::NodeSlots& host : hosts)
    append_item(names, host.name.value, ",");
  RemoteTarget all = running_nodes(context, cluster + "/" + names);
  RemoteTarget target{
      .cluster = all.cluster, .nodes = {}, .hosts = {}, .heartbeat = std::move(all.heartbeat)};
  for (const launcher::NodeSlots& host : hosts) {
    for (state::Node node : find_nodes(context, all.cluster, host.name.value)) {
      const auto known = std::ranges::find(all.nodes, node.name, &state::Node::name);
      node.slots = host.slots;
      target.hosts.push_back(all.hosts.at(static_cast<std::size_t>(known - all.nodes.begin())));
      target.nodes.push_back(std::move(node));
    }
  }
  return target;
}

/// Returns the ids of the jobs and arrays to start after. A name is its newest run.
std::vector<std::string> ids_of(Context& context, const RunJobOptions& options,
                                const launcher::JobFile& file) {
  std::vector<std::string> ids;
  for (const std::string& name : options.after.empty() ? file.after : options.after)
    ids.push_back(find_run(context, name));
  return ids;
}

/// Checks the nodes of the job, and shows the findings. Throws remote if one is an error.
void require_sound(Context& context, const RemoteTarget& target,
                   const launcher::JobRecord& record) {
  RemoteTarget used{.cluster = target.cluster, .nodes = {}, .hosts = {}};
  for (std::size_t i = 0; i < target.nodes.size(); ++i)
    if (std::ranges::count(record.placement, target.nodes[i].name, &launcher::NodeRanks::node)) {
      used.nodes.push_back(target.nodes[i]);
      used.hosts.push_back(target.hosts[i]);
    }
  const CheckReport report = check_cluster(context, used);
  for (const launcher::Finding& finding : report.findings)
    context.ui().warn(line_of(finding));
  if (worst_of(report.findings) == "error")
    throw Error(ErrorKind::remote, "the check of the nodes has found " +
                                       counts_of(report.findings) +
                                       ", and the job was not started");
}

/// Starts this command again as a process of its own, which waits for the job's turn, and shows the
/// job. Returns the exit code.
int wait_in_background(Context& context, const RunJobOptions& options) {
  if (options.file == "-")
    throw Error(
        ErrorKind::usage,
        "run job: a job whose file comes from standard input cannot wait in the background, for "
        "slots or for its end: write it to a file, or leave --detach out");
  const auto [id, code] = start_in_background();
  if (id.empty()) return code;
  const auto job = context.store().find_job(id);
  if (!job) throw Error(ErrorKind::internal, "the job of the queue is not on record: " + id);
  const std::string names = joined(turn_now(context, *job).waits_for);
  if (!names.empty()) context.ui().note("job " + id + " waits for " + names);
  return show_detached(context, *job);
}

/// Starts this command again in the background, where it runs the array, and shows the array.
int run_array_in_background(Context& context, const RunJobOptions& options) {
  if (options.file == "-")
    throw Error(ErrorKind::usage,
                "run job: the file of a detached array cannot come from standard input: write it "
                "to a file, or leave --detach out");
  const auto [id, code] = start_in_background();
  return id.empty() ? code : show_detached_array(context, id);
}

/// The parts of a plan beside the record of the job.
struct PlanParts {
  std::optional<ArrayPlan> array{};
  std::span<const launcher::NodeTopology> topologies{};  ///< Those of a job with --per.
};

/// Shows what would be started. Returns the exit code.
int show_plan(Context& context, const RemoteTarget& target, const launcher::JobRecord& record,
              const PlanParts& parts) {
  const std::optional<ArrayPlan>& array = parts.array;
  const launcher::JobTrial trial =
      engine_for(context, target.cluster, record)->try_start(record, context.cancel());
  View view = view_of(record);
  view.root["waits_for"] = turn_of_new(context, target, record).waits_for;
  if (array) view.root["array"] = {{"jobs", array->elements.size()}, {"limit", array->limit}};
  if (const auto& refused = trial.outcome) {
    view.root["exit_code"] = refused->exit_code;
    view.root["reason"] = refused->reason;
    context.ui().fail(refused->reason);
    if (context.ui().wants_document()) context.ui().show(view);
    return refused->exit_code;
  }
  const bool is_manifest = record.spec.engine == launcher::EngineKind::kubernetes;
  if (is_manifest)
    view.root["manifest"] = parse_json<Json>(trial.text, "the manifest");
  else if (!trial.text.empty())
    view.root["script"] = trial.text;
  if (trial.text.empty() || !context.ui().for_people())
    context.ui().show(view);
  else
    context.ui().data(is_manifest ? to_yaml(view.root["manifest"]) : trial.text);
  if (context.ui().for_people())
    context.ui().data(
        launcher::draw_placement(record.placement, parts.topologies, record.spec.per));
  if (!trial.note.empty()) context.ui().note(trial.note);
  if (array)
    context.ui().note("an array of " + counted(array->elements.size(), "job") + ", at most " +
                      std::to_string(array->limit) + " at once");
  context.ui().note("dry run: no job was started");
  return 0;
}

/// The surroundings of a job's run.
struct RunSurroundings {
  remote::SharedInput* input = nullptr;  ///< The input of ranks; null for none.
  FindTarget find_target{};
  std::string post_mortem{};        ///< The directory for bundles; empty for none.
  std::set<std::string> secrets{};  ///< The names of secret variables.
};

/// Follows a job that has been started to its end. Returns the exit code.
int follow_one(Context& context, StartedJob& started, const RunSurroundings& around) {
  const launcher::JobSpec& spec = started.open.record.spec;
  const bool is_detached = spec.presence == launcher::Presence::detached;
  const bool is_silent = is_detached || context.environment()(kInArray);
  FollowOptions request{
      .on_cancel = is_detached ? launcher::OnCancel::leave_job : launcher::OnCancel::stop_job,
      .labels = RankLabels::shown,
      .output = !is_silent,
      .input = around.input};
  if (spec.retries == 0) return follow_job(context, *started.engine, started.open, request);
  return follow_with_retries(context, started, around.find_target, std::move(request));
}

/// Starts the job and follows it to its end. Returns the exit code.
int run_one(Context& context, const RemoteTarget& target, launcher::JobRecord record,
            const RunSurroundings& around) {
  if (record.spec.retries > 0)
    process::set_variable(record.spec.environment, "FASTGPU_RESTART_COUNT=0");
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  const auto element = context.environment()(kInArray);
  StartedJob started = element ? start_element(context, target, record, *element)
                               : start_job(context, target, record, [&](const state::Job& job) {
                                   if (is_in_queue) report_and_leave(context, job.id);
                                 });
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  if (is_detached && !needs_follower(record.spec) && around.post_mortem.empty())
    return show_detached(context, started.open.job);
  started.engine = engine_to_follow(context, target.cluster, started.open.record);
  context.ui().note("job " + started.open.job.id + ": " + places_of(started.open.record));
  const int code = follow_one(context, started, around);
  const bool is_bad = code != 0 && !context.cancel().requested();
  if (is_bad && !around.post_mortem.empty())
    write_post_mortem(context, started.open.job.id, around.post_mortem, record.spec.environment,
                      around.secrets);
  return code;
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

/// Throws usage if a job that may be started again is to read standard input, which can be read
/// once.
void check_input_of_retries(const RunJobOptions& options, const launcher::JobFile& file,
                            const launcher::JobSpec& spec) {
  const std::string wanted = options.input.empty() ? file.stdin_to.value_or("") : options.input;
  if (spec.retries > 0 && !wanted.empty() && wanted != "none")
    throw Error(ErrorKind::usage, "run job: a job with --retry has no standard input (--stdin " +
                                      wanted + "): it could not be read again");
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
  const bool is_element = context.environment()(kInArray).has_value();
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  const bool has_input = !is_element && record.spec.retries == 0;
  const auto input = has_input ? input_for(options, file, record) : nullptr;
  const bool waits = needs_follower(record.spec) || !around.post_mortem.empty() ||
                     !turn_of_new(context, target, record).waits_for.empty();
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
  if (options.dry_run) return show_plan(context, nowhere, record, {});
  return run_placed(context, options, file, nowhere, std::move(record), {});
}

int run_here(Context& context, const RunJobOptions& options) {
  const std::string text = file_text(context, options);
  const launcher::JobFile file = job_file_of(options, text);
  const std::vector<std::string> secrets = secrets_of(options, file, context.environment());
  launcher::JobSpec spec =
      spec_of(options, file, own_variables(options, context.environment()), secrets);
  if (spec.engine == launcher::EngineKind::kubernetes)
    return run_in_kubernetes(context, options, file, std::move(spec));
  const auto element = context.environment()(kInArray);
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  const bool is_detached = spec.presence == launcher::Presence::detached;
  const bool is_array = !element && wants_array(options.array, file);
  if (is_array && is_detached && !is_in_queue && !options.dry_run)
    return run_array_in_background(context, options);
  std::optional<ArrayPlan> array;
  if (is_array) array = array_plan(options.array, file);
  if (array) check_parameters(*array, spec);
  if (element) become_element(context, *element, spec);
  RemoteTarget target = target_of(context, options, file);
  const std::vector<launcher::NodeTopology> topologies = place_by_topology(context, target, spec);
  EnvCluster cluster(context, std::move(target));
  launcher::JobRecord record = spec.engine == launcher::EngineKind::mpirun
                                   ? placed_on(context, cluster.target(), spec)
                                   : submitted_on(cluster.target(), spec);
  launcher::bind_ranks(record.placement, topologies, spec.per);
  if (!element) record.spec.after = ids_of(context, options, file);
  if (spec.launcher == launcher::Launcher::torchrun) record = launcher::with_torchrun(record);
  enter_environment(options, cluster, record);
  if (options.check && !is_in_queue && !element) require_sound(context, cluster.target(), record);
  if (options.dry_run)
    return show_plan(context, cluster.target(), record, {.array = array, .topologies = topologies});
  if (array || element) {
    const std::string input = options.input.empty() ? file.stdin_to.value_or("") : options.input;
    if (!input.empty() && input != "none")
      throw Error(ErrorKind::usage,
                  "run job: the jobs of an array have no standard input (--stdin " + input + ")");
  }
  if (array)
    return run_array(context, cluster.target(),
                     {.plan = std::move(*array),
                      .record = std::move(record),
                      .job_file = text,
                      .is_in_background = is_in_queue});
  check_input_of_retries(options, file, spec);
  return run_placed(context, options, file, cluster.target(), std::move(record),
                    {.find_target = [&] { return target_of(context, options, file); },
                     .post_mortem = options.post_mortem,
                     .secrets = assigned_names(secrets)});
}

int run(Context& context, const RunJobOptions& options) {
  try {
    return run_here(context, options);
  } catch (const Error& e) {
    if (const auto element = context.environment()(kInArray)) fail_element(context, *element, e);
    throw;
  }
}

void describe_ranks(Arguments& arguments, RunJobOptions& options) {
  arguments.group("Rank");
  arguments
      .count("--np", "N", "Total number of ranks (one per slot)", options.ranks, 1, kMostJobRanks)
      .letter = "-np";
  arguments.count("--npernode", "K", "Number of ranks per node", options.per_node, 1,
                  kMostJobRanks);
  Argument& per = arguments.text("--per", "UNIT",
                                 "Give each rank a core, NUMA node, socket or GPU of its own, and "
                                 "bind it there",
                                 options.per);
  per.values = Values::choice;
  per.choices = {"core", "numa", "socket", "gpu"};
  arguments
      .text("--host", "NODE[:SLOTS],...",
            "Use these nodes of the cluster, with that many slots each", options.hosts)
      .letter = "-H";
  Argument& engine =
      arguments.text("--engine", "NAME", "System that runs the job (mpirun)", options.engine);
  engine.values = Values::choice;
  engine.choices = {"mpirun", "slurm", "kubernetes"};
  Argument& launcher = arguments.text("--launcher", "NAME",
                                      "Program that starts the ranks (mpirun)", options.launcher);
  launcher.values = Values::choice;
  launcher.choices = {"mpirun", "torchrun", "plain"};
  Argument& input =
      arguments.text("--stdin", "TO", "Ranks that read standard input (rank0)", options.input);
  input.values = Values::choice;
  input.choices = {"rank0", "all", "none"};
  arguments.flag("--oversubscribe", "Allow more ranks than slots", options.oversubscribe);
  arguments.group("Queue");
  arguments.list("--after", "JOB", "Start after this job or array has succeeded", options.after)
      .values = Values::job;
  arguments.count("--priority", "N", "Start before waiting jobs of a lower priority (0)",
                  options.priority, -launcher::kMostPriority, launcher::kMostPriority);
  arguments.flag("--share", "Start at once, on slots that other jobs have", options.share);
  describe_array(arguments, options.array);
}

void describe_environment(Arguments& arguments, RunJobOptions& options) {
  arguments.group("Environment");
  describe_variables(arguments, options.variables, "every rank");
  arguments
      .list("--export", "NAME[=VALUE]", "The same as --env, as mpirun spells it", options.exported)
      .letter = "-x";
  arguments.list("--secret", "NAME[=@FILE]",
                 "Set a variable for every rank to its local value, or to the content of a file",
                 options.secrets);
  Argument& environment = arguments.text(
      "--environment", "NAME", "Run in this environment (the active one)", options.environment);
  environment.letter = "-E";
  environment.values = Values::environment;
  arguments.flag("--no-environment", "Run in no environment, not even the active one",
                 options.no_environment);
}

}  // namespace

Action make_run_job_command(Arguments& arguments) {
  auto options = std::make_shared<RunJobOptions>();
  arguments.text("NAME", "", "Name of the job (its program)", options->name);
  Argument& cluster =
      shared(arguments.text("--cluster", "CLUSTER[/NODES]",
                            "Cluster or nodes to use (the only cluster)", options->cluster));
  cluster.letter = "-c";
  cluster.values = Values::target;
  Argument& file =
      arguments.text("--file", "JOB.YAML", "Job file; - reads standard input", options->file);
  file.letter = "-f";
  file.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "Override a field of the job file", options->set);
  arguments.duration("--timeout", "Stop the job after this long", options->timeout);
  arguments.duration("--grace", "Time between SIGTERM and SIGKILL when the job is ended (10s)",
                     options->grace);
  arguments.flag("--keep-processes", "Leave daemons of a job that ends well running",
                 options->keep_processes);
  arguments.flag("--detach", "Return at once and leave the job running", options->detach).letter =
      "-d";
  arguments.flag("--check", "Check the nodes first, and do not start on one with an error",
                 options->check);
  arguments.flag("--dry-run", "Show where the ranks would run, without starting them",
                 options->dry_run);
  describe_ranks(arguments, *options);
  describe_recovery(arguments, options->recovery);
  arguments
      .text("--post-mortem", "DIR",
            "If the job ends badly, collect logs and facts of its nodes in this directory",
            options->post_mortem)
      .values = Values::path;
  describe_environment(arguments, *options);
  arguments.group("File");
  arguments
      .text("--sync", "DIR", "Copy this directory to the nodes and run the job there",
            options->sync)
      .values = Values::path;
  arguments.text("--workdir", "DIR", "Working directory on the nodes (home)", options->directory);
  arguments.group("");
  arguments.program({"The program of every rank and its arguments, passed on unchanged", false,
                     &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
