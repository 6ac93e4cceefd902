#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "base/unique_fd.hpp"
#include "cli/commands/cluster/check_view.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/commands/shared/program_variables.hpp"
#include "cli/commands/shared/standard_input.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/host_list.hpp"
#include "launcher/job_file.hpp"
#include "launcher/placement.hpp"
#include "launcher/topologies.hpp"
#include "process/child.hpp"
#include "process/command.hpp"
#include "state/record_text.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostJobRanks = 100'000;
constexpr const char* kInQueue = "FASTGPU_IN_QUEUE";

struct RunJobOptions {
  std::string name;
  std::string cluster;
  std::string file;
  std::vector<std::string> set;
  std::optional<int> ranks;
  std::optional<int> per_node;
  std::string per;
  std::string hosts;
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
  bool dry_run = false;
  std::vector<std::string> program;
};

launcher::JobFile job_file_of(const RunJobOptions& options) {
  config::Document document;
  if (!options.file.empty()) document = config::Document::read(options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  return launcher::read_job_file(document);
}

/// Returns a job's name made from its program: "train-py" for "./train.py".
std::string name_from(const std::string& program) {
  std::string out;
  for (const char c : program.substr(program.rfind('/') + 1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9' && !out.empty());
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
  launcher::validate(spec);
  check_sync(spec.sync);
  return spec;
}

std::string cluster_of(Context& context, const RunJobOptions& options,
                       const launcher::JobFile& file) {
  return usual_cluster(
      context, options.cluster.empty() ? file.cluster.value_or("") : options.cluster, "run job");
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
  if (wanted == "none" || is_detached || options.file == "-" || !is_passed_on(STDIN_FILENO))
    return nullptr;
  record.spec.input = wanted == "all" ? launcher::Input::all : launcher::Input::rank_0;
  const bool to_all = record.spec.input == launcher::Input::all;
  return std::make_unique<remote::SharedInput>(STDIN_FILENO, to_all ? record.placement.size() : 1);
}

/// Returns "4 ranks on 2 nodes".
std::string places_of(const launcher::JobRecord& record) {
  const auto ranks = static_cast<std::size_t>(launcher::total_ranks(record.placement));
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
    names += (names.empty() ? "" : ",") + host.name.value;
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

/// Asks the nodes for their topologies, and lets each have as many ranks as it has places for them.
/// Throws usage for a node without a place, or with fewer slots than the ranks that it would get.
std::vector<launcher::NodeTopology> place_by_topology(Context& context, RemoteTarget& target,
                                                      const launcher::JobSpec& spec) {
  if (spec.per == launcher::RankUnit::none) return {};
  context.ui().progress("reading the topology of the nodes");
  auto topologies =
      launcher::ask_topologies(context.ssh(), target.hosts, context.agent(), context.cancel());
  context.ui().end_progress();
  if (target.cluster.provider == "local")  // Local nodes share the cores of this machine.
    for (launcher::NodeTopology& node : topologies)
      node.topology.boot_id = "local";
  const auto places = launcher::places_of_nodes(topologies, spec.per);
  const std::string unit(state::to_string(spec.per));
  for (std::size_t i = 0; i < places.size(); ++i) {
    state::Node& node = target.nodes[i];
    const auto count = static_cast<int>(places[i].size());
    if (count == 0)
      throw Error(ErrorKind::usage,
                  "run job: --per " + unit + ": " + node.name.value + " has no " + unit);
    const bool is_counted = spec.ranks || spec.per_node;
    if (count > node.slots && !is_counted && spec.crowding == launcher::Crowding::refused)
      throw Error(ErrorKind::usage,
                  "run job: --per " + unit + " starts " + counted(count, "rank") + " on " +
                      node.name.value + ", which has " + counted(node.slots, "slot") +
                      ": give their number by -np, or allow it by --oversubscribe");
    node.slots = spec.crowding == launcher::Crowding::allowed ? count : std::min(node.slots, count);
  }
  return topologies;
}

/// Returns the ids of the jobs to start after. A name is its newest run.
std::vector<std::string> ids_of(Context& context, const RunJobOptions& options,
                                const launcher::JobFile& file) {
  std::vector<std::string> ids;
  for (const std::string& name : options.after.empty() ? file.after : options.after)
    ids.push_back(find_job(context, name).id);
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

/// Returns the command line of this process, for another one of its kind.
std::vector<std::string> own_words() {
  const auto text = read_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::size_t begin = 0; text && begin < text->size();) {
    const std::size_t end = std::min(text->find('\0', begin), text->size());
    words.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.empty()) throw Error(ErrorKind::local, "/proc/self/cmdline cannot be read");
  words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

/// Starts this command again as a process of its own, which waits for the job's turn, and shows the
/// job. Returns the exit code.
int wait_in_background(Context& context, const RunJobOptions& options) {
  if (options.file == "-")
    throw Error(
        ErrorKind::usage,
        "run job: the slots are taken, and a job whose file comes from standard input cannot "
        "wait in the background: write it to a file, or leave --detach out");
  process::Command command{.argv = own_words()};
  command.environment = process::current_environment();
  process::set_variable(*command.environment, std::string(kInQueue) + "=1");
  command.grouping = process::Grouping::session;
  command.in.mode = process::StreamMode::null;
  command.out.mode = process::StreamMode::pipe;
  process::Child child(command);
  constexpr std::size_t kMostAnswer = 4'096;
  const std::string id = read_to_end(child.out().get(), "the answer of the queue", kMostAnswer);
  if (id.empty()) return child.wait().shell_code();  // It has printed why.
  child.release();
  const auto job = context.store().find_job(id);
  if (!job) throw Error(ErrorKind::internal, "the job of the queue is not on record: " + id);
  std::string names;
  for (const std::string& other : turn_now(context, *job).waits_for)
    names += (names.empty() ? "" : ", ") + other;
  if (!names.empty()) context.ui().note("job " + id + " waits for " + names);
  return show_detached(context, *job);
}

/// Reports the id to the fastgpu that started this one, and leaves its streams.
void leave_streams(Context& context, const state::Job& job) {
  context.ui().set_format(Format::table);
  context.ui().data(job.id);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd)
    ::dup2(null.get(), fd);
}

int run(Context& context, const RunJobOptions& options) {
  const launcher::JobFile file = job_file_of(options);
  const launcher::JobSpec spec =
      spec_of(options, file, own_variables(options, context.environment()),
              secrets_of(options, file, context.environment()));
  RemoteTarget target = target_of(context, options, file);
  const auto topologies = place_by_topology(context, target, spec);
  EnvCluster cluster(context, std::move(target));
  launcher::JobRecord record = placed_on(context, cluster.target(), spec);
  launcher::bind_ranks(record.placement, topologies, spec.per);
  record.spec.after = ids_of(context, options, file);
  const bool is_in_queue = context.environment()(kInQueue).has_value();
  if (spec.launcher == launcher::Launcher::torchrun) record = launcher::with_torchrun(record);
  enter_environment(options, cluster, record);
  if (options.check && !is_in_queue) require_sound(context, cluster.target(), record);
  if (options.dry_run) {
    const auto refused =
        runner_for(context, cluster.target().cluster).try_start(record, context.cancel());
    View view = view_of(record);
    view.root["waits_for"] = turn_of_new(context, cluster.target(), record).waits_for;
    if (refused) {
      view.root["exit_code"] = refused->exit_code;
      view.root["reason"] = refused->reason;
      context.ui().fail(refused->reason);
      if (context.ui().wants_document()) context.ui().show(view);
      return refused->exit_code;
    }
    context.ui().show(view);
    if (context.ui().for_people())
      context.ui().data(launcher::draw_placement(record.placement, topologies, spec.per));
    context.ui().note("dry run: no job was started");
    return 0;
  }
  const auto input = input_for(options, file, record);
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  if (is_detached && !is_in_queue &&
      !turn_of_new(context, cluster.target(), record).waits_for.empty())
    return wait_in_background(context, options);
  StartedJob started = start_job(context, cluster.target(), record, [&](const state::Job& job) {
    if (is_in_queue) leave_streams(context, job);
  });
  if (record.spec.presence == launcher::Presence::detached)
    return show_detached(context, started.open.job);
  context.ui().note("job " + started.open.job.id + ": " + places_of(record));
  return follow_job(context, started.runner, started.open,
                    {.on_cancel = launcher::OnCancel::stop_job,
                     .labels = RankLabels::shown,
                     .input = input.get()});
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
  arguments.list("--after", "JOB", "Start after this job has succeeded", options.after).values =
      Values::job;
  arguments.count("--priority", "N", "Start before waiting jobs of a lower priority (0)",
                  options.priority, -launcher::kMostPriority, launcher::kMostPriority);
  arguments.flag("--share", "Start at once, on slots that other jobs have", options.share);
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
