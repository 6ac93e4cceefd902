#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/env_tools.hpp"
#include "cli/commands/job_result.hpp"
#include "cli/commands/job_start.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/ui/text.hpp"
#include "config/job_file.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostRanks = 100'000;

struct Options {
  std::string name;
  std::string cluster;
  std::string file;
  std::vector<std::string> set;
  std::optional<int> ranks;
  std::optional<int> per_node;
  std::vector<std::string> environment;
  std::string sync;
  std::string directory;
  std::optional<std::chrono::milliseconds> timeout;
  bool detach = false;
  bool oversubscribe = false;
  bool dry_run = false;
  std::vector<std::string> program;
};

config::JobFile file_of(const Options& options) {
  config::Document document;
  if (!options.file.empty()) document = config::Document::read(options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  return config::read_job_file(document);
}

/// A name for a job that was given none, from its program: "./train.py" is "train-py".
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

bool is_assignment(const std::string& text) {
  return text.find('=') != std::string::npos;
}

/// The environment of fastgpu that --env names, or the cluster's active one; empty: none.
std::string environment_name(const Options& options, const envs::EnvironmentsRecord& record) {
  std::string name = record.active;
  int given = 0;
  for (const std::string& text : options.environment) {
    if (is_assignment(text)) continue;
    name = text;
    if (++given > 1)
      throw Error(ErrorKind::usage, "run job: --env names two environments; a variable is K=V");
  }
  return name;
}

/// Its ranks then run in the environment that is meant, which has to be where they are placed.
void enter_environment(const Options& options, EnvCluster& cluster, launcher::JobRecord& job) {
  const std::string name = environment_name(options, cluster.record());
  if (name.empty()) return;
  std::vector<NodeName> nodes;
  for (const launcher::NodeRanks& ranks : job.placement)
    nodes.push_back(ranks.node);
  cluster.find(name);
  cluster.require_on(name, nodes);
  job.spec.argv.insert(job.spec.argv.begin(), envs::runner_in(cluster.record(), name));
  job.spec.mpirun_in = envs::programs_in(cluster.record(), name);
}

/// Flags over the file.
launcher::JobSpec spec_of(const Options& options, const config::JobFile& file) {
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
  for (const auto& [key, value] : file.env)
    spec.environment.push_back(key + "=" + value);
  std::ranges::copy_if(options.environment, std::back_inserter(spec.environment), is_assignment);
  spec.sync = options.sync.empty() ? file.sync.value_or("") : options.sync;
  spec.directory = options.directory.empty() ? file.workdir.value_or("") : options.directory;
  if (options.timeout)
    spec.timeout = *options.timeout;
  else if (file.timeout)
    spec.timeout = *file.timeout;
  if (options.detach || file.detach.value_or(false)) spec.presence = launcher::Presence::detached;
  if (options.oversubscribe) spec.crowding = launcher::Crowding::allowed;
  launcher::validate(spec);
  return spec;
}

std::string cluster_of(Context& context, const Options& options, const config::JobFile& file) {
  return usual_cluster(
      context, options.cluster.empty() ? file.cluster.value_or("") : options.cluster, "run job");
}

View view_of(const launcher::JobRecord& record) {
  View view;
  view.root = document("plan");
  view.root["job"] = Json::parse(launcher::to_json(record));
  view.root["price_per_hour"] = 0;
  view.table.columns = {{"NODE"}, {"RANKS"}};
  for (const launcher::NodeRanks& ranks : record.placement) {
    const std::string last = std::to_string(ranks.first + ranks.count - 1);
    view.table.rows.push_back({ranks.node.value, std::to_string(ranks.first) + "-" + last});
    view.names.push_back(ranks.node.value);
  }
  return view;
}

/// "4 ranks on 2 nodes"
std::string places_of(const launcher::JobRecord& record) {
  const auto ranks = static_cast<std::size_t>(launcher::total_ranks(record.placement));
  return counted(ranks, "rank") + " on " + counted(record.placement.size(), "node");
}

int run(Context& context, const Options& options) {
  const config::JobFile file = file_of(options);
  const launcher::JobSpec spec = spec_of(options, file);
  EnvCluster cluster(context, running_nodes(context, cluster_of(context, options, file)));
  launcher::JobRecord record = placed_on(cluster.target(), spec);
  enter_environment(options, cluster, record);
  if (options.dry_run) {
    context.ui().show(view_of(record));
    return 0;
  }
  StartedJob started = start_job(context, cluster.target(), record);
  if (record.spec.presence == launcher::Presence::detached)
    return show_detached(context, started.open.job);
  context.ui().note("job " + started.open.job.id + ": " + places_of(record));
  return follow_job(context, started.runner, started.open,
                    {.on_cancel = launcher::OnCancel::stop_job, .labels = RankLabels::shown});
}

}  // namespace

Action describe_run_job(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.text("NAME", "", "What the job is called (its program)", options->name);
  Argument& cluster =
      arguments.text("--cluster", "CLUSTER[/NODES]", "Where it runs", options->cluster);
  cluster.letter = "-c";
  cluster.values = Values::target;
  arguments.count("--np", "N", "Ranks in all (every slot)", options->ranks, 1, kMostRanks).letter =
      "-np";
  arguments.count("--npernode", "K", "Ranks on each node", options->per_node, 1, kMostRanks);
  arguments
      .list("--env", "K=V|NAME", "A variable for every rank, or the environment that ranks run in",
            options->environment)
      .letter = "-e";
  Argument& file =
      arguments.text("--file", "JOB.YAML", "A job file; - is standard input", options->file);
  file.letter = "-f";
  file.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "A field of the job file in another way", options->set);
  arguments
      .text("--sync", "DIR", "A directory to copy to the nodes, where the job then runs",
            options->sync)
      .values = Values::path;
  arguments.text("--workdir", "DIR", "Where the job runs on the nodes (home)", options->directory);
  arguments.duration("--timeout", "End the job after this time", options->timeout);
  arguments.flag("--detach", "Return at once; the job goes on without us", options->detach).letter =
      "-d";
  arguments.flag("--oversubscribe", "Allow more ranks than slots", options->oversubscribe);
  arguments.flag("--dry-run", "Show where the ranks would run, and start nothing",
                 options->dry_run);
  arguments.program({"What every rank runs, its arguments unchanged", false, &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
