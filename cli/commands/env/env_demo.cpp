#include <memory>
#include <numeric>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_demo_report.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/job/first_rank_lines.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/workflows/remote_target.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostDemoRanks = 100'000;

struct EnvDemoOptions {
  EnvTarget target;
  std::string name;
  std::optional<int> ranks;
  std::optional<std::chrono::milliseconds> timeout;
  bool oversubscribe = false;
};

/// Returns the environment's lock from the first node that has one.
envs::EnvironmentLock lock_on_nodes(const EnvCluster& cluster, const std::string& name) {
  const auto answers = cluster.call({"env-show", cluster.prefix_for(name), name});
  for (const auto& answer : answers)
    if (answer.ok())
      return envs::parse_lock(answer.value().get("lock"), "the lock on " + answer.host.value);
  throw Error(answers.front().error());
}

std::vector<std::string> frameworks_of(const EnvCluster& cluster, const std::string& name) {
  auto frameworks = demos_for(lock_on_nodes(cluster, name));
  if (frameworks.empty())
    throw Error(ErrorKind::not_found,
                "environment '" + name +
                    "' has no framework with a demonstration (numpy, PyTorch, TensorFlow, JAX, "
                    "MXNet): fastgpu env install-frameworks " +
                    name + " --framework numpy");
  return frameworks;
}

int ranks_for(const RemoteTarget& target, const EnvDemoOptions& options) {
  const int slots =
      std::accumulate(target.nodes.begin(), target.nodes.end(), 0,
                      [](int sum, const state::Node& node) { return sum + node.slots; });
  const int ranks = options.ranks.value_or(slots);
  if (ranks < 2)
    throw Error(ErrorKind::usage,
                "env demo: a comparison needs two ranks, but there is only one slot: use --np 2 "
                "--oversubscribe");
  return ranks;
}

launcher::JobSpec spec_of(EnvCluster& cluster, const EnvDemoOptions& options,
                          const std::string& framework, int ranks) {
  const std::string run = envs::runner_in(cluster.record(), options.name);
  const agent::EnvironmentPlaces places{cluster.record().prefix.at(options.name)};
  launcher::JobSpec spec;
  spec.name = parse_job_name("demo-" + framework);
  spec.argv = {run, "python", (places.current(options.name) / demo_script(framework)).string()};
  spec.mpirun_in = envs::programs_in(cluster.record(), options.name);
  // Compiled files would change the environment, which must match its manifest.
  spec.environment = {"PYTHONDONTWRITEBYTECODE=1"};
  spec.ranks = ranks;
  if (options.timeout) spec.timeout = *options.timeout;
  if (options.oversubscribe) spec.crowding = launcher::Crowding::allowed;
  launcher::validate(spec);
  return spec;
}

/// Runs the training on `ranks` ranks. Absent if the reader of our output is gone.
std::optional<DemoRun> train(Context& context, EnvCluster& cluster, const EnvDemoOptions& options,
                             const std::string& framework, int ranks) {
  const auto record =
      placed_on(context, cluster.target(), spec_of(cluster, options, framework, ranks));
  context.ui().progress(framework + " on " + counted(ranks, "rank"));
  StartedJob started = start_job(context, cluster.target(), record);
  std::optional<DemoRun> report;
  FirstRankLines output(context, [&](const std::string& line) {
    if (auto found = parse_demo_report(line)) report = std::move(found);
  });
  const auto job = follow_to_end(context, *started.engine, started.open,
                                 {.on_cancel = launcher::OnCancel::stop_job}, output);
  context.ui().end_progress();
  if (!job) return std::nullopt;
  if (job->state != state::JobState::succeeded) throw failure_of(*job);
  output.check();
  if (!report)
    throw Error(ErrorKind::remote, "job " + job->id + ": the demonstration sent no report");
  if (report->ranks != ranks)
    throw Error(ErrorKind::remote, "job " + job->id + ": " + "started " + counted(ranks, "rank") +
                                       ", and the demonstration counted " +
                                       std::to_string(report->ranks));
  return report;
}

void require_everywhere(EnvCluster& cluster, const std::string& name) {
  std::vector<NodeName> nodes;
  for (const state::Node& node : cluster.target().nodes)
    nodes.push_back(node.name);
  cluster.require_on(name, nodes);
}

int run(Context& context, const EnvDemoOptions& options) {
  EnvCluster cluster(context, options.target);
  const int ranks = ranks_for(cluster.target(), options);
  cluster.find(options.name);
  require_everywhere(cluster, options.name);
  std::vector<DemoRun> runs;
  std::string objections;
  for (const std::string& framework : frameworks_of(cluster, options.name)) {
    for (const int some : {1, ranks}) {
      const auto report = train(context, cluster, options, framework, some);
      if (!report) return kBrokenPipe;
      runs.push_back(*report);
    }
    const std::string why = objection(runs[runs.size() - 2], runs.back());
    if (!why.empty()) append_item(objections, why, "; ");
  }
  context.ui().show(view_of(options.name, runs));
  if (!objections.empty()) throw Error(ErrorKind::remote, objections);
  return 0;
}

}  // namespace

Action make_env_demo_command(Arguments& arguments) {
  auto options = std::make_shared<EnvDemoOptions>();
  describe_named_environment(arguments, options->name, options->target);
  arguments
      .count("--np", "N", "Number of ranks to compare with one (one per slot)", options->ranks, 2,
             kMostDemoRanks)
      .letter = "-np";
  arguments.duration("--timeout", "Stop a run after this long", options->timeout);
  arguments.flag("--oversubscribe", "Allow more ranks than slots", options->oversubscribe);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
