#include <algorithm>
#include <memory>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/workflows/lookup.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {
namespace {

struct Options {
  EnvTarget target;
  std::string name;
  bool all = false;
  bool off = false;
  bool dry_run = false;
  std::vector<std::string> program;
};

using Answers = std::vector<HostResult<agent::Records>>;

/// Runs a program on every node, in the environment; its exit code is ours.
int run_program(Context& context, EnvCluster& cluster, const Options& options) {
  std::vector<std::string> argv = {
      (agent::details_of(
           agent::EnvironmentPlaces{cluster.find(options.name)}.current(options.name)) /
       "run")
          .string()};
  argv.insert(argv.end(), options.program.begin(), options.program.end());
  std::vector<std::string> names;
  for (const ssh::Host& host : cluster.hosts())
    names.push_back(host.name.value);
  StreamingSink sink(context, names);
  const auto results =
      remote::exec_everywhere(context.ssh(), cluster.hosts(), argv, context.agent(),
                              {.connect_timeout = cluster.access().options.connect_timeout,
                               .delivery = remote::Delivery::pieces},
                              sink, context.cancel());
  if (sink.closed()) return kBrokenPipe;
  int code = report(context, results);
  for (const auto& result : results)
    if (result.ok()) code = std::max(code, result.value().exit.code());
  return code;
}

/// Returns the changes of an activation, also of a planned one.
View activation_view(const EnvCluster& cluster, const Options& options, const std::string& prefix) {
  View view;
  view.root = document("environment-activation");
  view.root["name"] = options.name;
  view.root["active"] = !options.off;
  view.root["prefix"] = prefix;
  view.root["nodes"] = Json::array();
  view.root["dry_run"] = options.dry_run;
  view.table.columns = {{"NODE"}, {"ENVIRONMENT"}, {"ACTIVE"}};
  for (const ssh::Host& host : cluster.hosts()) {
    view.root["nodes"].push_back(host.name.value);
    view.table.rows.push_back({host.name.value, options.name, options.off ? "no" : "yes"});
    view.names.push_back(host.name.value);
  }
  return view;
}

int activate(Context& context, const Options& options) {
  if (options.dry_run && !options.program.empty())
    throw Error(ErrorKind::usage, "env activate: --dry-run goes without a program");
  EnvCluster cluster(context, options.target);
  if (!options.program.empty()) return run_program(context, cluster, options);
  if (!options.dry_run) cluster.lock();
  const std::string prefix = cluster.find(options.name);
  if (options.dry_run) {
    context.ui().show(activation_view(cluster, options, prefix));
    return 0;
  }
  const Answers answers =
      cluster.call(options.off ? std::vector<std::string>{"env-deactivate", prefix}
                               : std::vector<std::string>{"env-activate", prefix, options.name});
  const int code = report(context, answers);
  if (code != 0) return code;
  cluster.record().active = options.off ? "" : options.name;
  cluster.store_record();
  if (!context.ui().for_people())
    context.ui().show(activation_view(cluster, options, prefix));
  else
    context.ui().note(options.off ? "logins and jobs get no environment any more"
                                  : "logins and jobs get " + options.name + " from now on");
  return 0;
}

int verify(Context& context, const Options& options) {
  EnvCluster cluster(context, options.target);
  const Answers answers = cluster.call({"env-verify", cluster.find(options.name), options.name});
  View view;
  view.root = document("environment-check");
  view.root["name"] = options.name;
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODE"}, {"FILES"}, {"RESULT"}};
  int code = report(context, answers);
  std::string manifest;
  for (const auto& answer : answers) {
    if (!answer.ok()) continue;
    auto found = agent::parse_verify_answer(answer.value());
    if (manifest.empty()) manifest = found.manifest;
    if (found.manifest != manifest)
      found.damaged.emplace_back("another build than on the first node");
    const bool good = found.damaged.empty();
    if (!good) code = std::max(code, 1);
    view.names.push_back(answer.host.value);
    view.table.rows.push_back(
        {answer.host.value, std::to_string(found.files),
         good ? Cell("ok", Color::green) : Cell(found.damaged.front(), Color::red)});
    view.root["nodes"].push_back({{"name", answer.host.value},
                                  {"files", found.files},
                                  {"manifest", found.manifest},
                                  {"damaged", found.damaged}});
  }
  context.ui().show(view);
  return code;
}

/// One environment in one place, with the nodes that had it.
struct Removal {
  std::string name;
  std::string prefix;
  std::vector<std::string> nodes;
};

/// Adds a node's environments below the prefix that should be removed.
void add_removals(const HostResult<agent::EnvironmentStatus>& node, const Options& options,
                  std::vector<Removal>& removals) {
  const agent::EnvironmentStatus& status = node.value();
  std::set<std::string> names;
  for (const agent::FoundVersion& found : status.versions)
    if (options.all || found.name == options.name) names.insert(found.name);
  for (const std::string& name : names) {
    auto at = std::ranges::find_if(removals, [&](const Removal& one) {
      return one.name == name && one.prefix == status.prefix;
    });
    if (at == removals.end()) at = removals.insert(at, {name, status.prefix, {}});
    at->nodes.push_back(node.host.value);
  }
}

View removal_view(const std::vector<Removal>& removals, bool dry_run) {
  View view;
  view.root = document("environment-removal");
  view.root["environments"] = Json::array();
  view.root["dry_run"] = dry_run;
  view.table.columns = {{"ENVIRONMENT"}, {"NODES"}, {"PREFIX", true}, {"DONE"}};
  view.when_empty = "no environment is there";
  for (const Removal& one : removals) {
    view.root["environments"].push_back(
        {{"name", one.name}, {"prefix", one.prefix}, {"nodes", one.nodes}});
    view.table.rows.push_back(
        {one.name, fold_names(one.nodes), one.prefix, dry_run ? "nothing" : "removed"});
    view.names.push_back(one.name);
  }
  return view;
}

/// Removes environments below one prefix; returns the exit code.
int remove_below(Context& context, const EnvCluster& cluster, const std::string& prefix,
                 const Options& options, std::vector<Removal>& removals) {
  const auto looked = envs::look_at_nodes(cluster.access(), cluster.hosts(), prefix);
  Answers answers;
  if (!options.dry_run) {
    std::vector<std::string> words = {"env-remove", prefix};
    if (!options.all) words.push_back(options.name);
    answers = cluster.call(words);
  }
  for (std::size_t i = 0; i < looked.size(); ++i)
    if (looked[i].ok() && (options.dry_run || answers[i].ok()))
      add_removals(looked[i], options, removals);
  return options.dry_run ? report(context, looked) : report(context, answers);
}

int remove(Context& context, const Options& options) {
  if (options.all == !options.name.empty())
    throw Error(ErrorKind::usage, "env remove: give a name, or --all");
  EnvTarget target = options.target;
  target.cluster = usual_cluster(context, target.cluster, "env remove", Purpose::remove);
  EnvCluster cluster(context, target);
  if (!options.dry_run) cluster.lock();
  auto& record = cluster.record();
  std::set<std::string> prefixes = {options.all ? options.target.prefix
                                                : cluster.find(options.name)};
  if (options.all && options.target.prefix.empty())
    for (const auto& [name, prefix] : record.prefix)
      prefixes.insert(prefix);
  int code = 0;
  std::vector<Removal> removals;
  for (const std::string& prefix : prefixes)
    code = std::max(code, remove_below(context, cluster, prefix, options, removals));
  context.ui().show(removal_view(removals, options.dry_run));
  if (code != 0 || options.dry_run) return code;
  if (options.all) record = {};
  envs::forget(record, options.name);
  cluster.store_record();
  return 0;
}

void describe_named(Arguments& arguments, const std::shared_ptr<Options>& options) {
  Argument& name = arguments.text("NAME", "", "The environment", options->name);
  name.required = true;
  name.values = Values::environment;
  describe_env_target(arguments, options->target);
}

}  // namespace

Action describe_env_activate(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_named(arguments, options);
  arguments.flag("--off", "Deactivate: logins and jobs get no environment", options->off);
  arguments.flag("--dry-run", "Show which nodes would change, without changing them",
                 options->dry_run);
  arguments.program({"Run this program in the environment on every node, without activating it",
                     false, &options->program});
  return [options](Context& context) { return activate(context, *options); };
}

Action describe_env_verify(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_named(arguments, options);
  return [options](Context& context) { return verify(context, *options); };
}

Action describe_env_remove(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.text("NAME", "", "The environment", options->name).values = Values::environment;
  describe_env_target(arguments, options->target);
  arguments.flag("--all", "Remove all environments and everything that came with them",
                 options->all);
  arguments.flag("--dry-run", "Show what would be removed, without removing it", options->dry_run);
  return [options](Context& context) { return remove(context, *options); };
}

}  // namespace fastgpu::cli
