#include <algorithm>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "remote/exec.hpp"

namespace fastgpu::cli {
namespace {

struct EnvActivateOptions {
  EnvTarget target;
  std::string name;
  bool off = false;
  bool dry_run = false;
  std::vector<std::string> program;
};

using Answers = std::vector<HostResult<agent::Records>>;

/// Runs a program in the environment on every node. Returns its exit code.
int run_program(Context& context, EnvCluster& cluster, const EnvActivateOptions& options) {
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
  return sink.exit_code_after(code);
}

/// Returns the changes of an activation, or the planned ones under --dry-run.
View activation_view(const EnvCluster& cluster, const EnvActivateOptions& options,
                     const std::string& prefix) {
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

int activate(Context& context, const EnvActivateOptions& options) {
  if (options.dry_run && !options.program.empty())
    throw Error(ErrorKind::usage, "env activate: --dry-run cannot run a program: omit one of them");
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
    context.ui().note(options.off ? "logins and jobs no longer get an environment"
                                  : "logins and jobs get " + options.name + " from now on");
  return 0;
}

}  // namespace

Action make_env_activate_command(Arguments& arguments) {
  auto options = std::make_shared<EnvActivateOptions>();
  describe_named_environment(arguments, options->name, options->target);
  arguments.flag("--off", "Deactivate: logins and jobs get no environment", options->off);
  arguments.flag("--dry-run", "Show which nodes would change, without changing them",
                 options->dry_run);
  arguments.program({"Run this program in the environment on every node, without activating it",
                     false, &options->program});
  return [options](Context& context) { return activate(context, *options); };
}

}  // namespace fastgpu::cli
