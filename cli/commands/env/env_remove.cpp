#include <algorithm>
#include <memory>
#include <set>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "cli/commands/cluster/running_jobs.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/name_folding.hpp"
#include "envs/environments/node_status.hpp"

namespace fastgpu::cli {
namespace {

struct EnvRemoveOptions {
  EnvTarget target;
  std::string name;
  bool all = false;
  bool dry_run = false;
  bool yes = false;
};

using Answers = std::vector<HostResult<agent::Records>>;

/// An environment under one prefix, and the nodes that had it.
struct Removal {
  std::string name;
  std::string prefix;
  std::vector<std::string> nodes;
};

/// Adds the environments of one node that are to be removed.
void add_removals(const HostResult<agent::EnvironmentStatus>& node, const EnvRemoveOptions& options,
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
    // The default prefix may be on record by its path, too.
    if (!contains(at->nodes, node.host.value)) at->nodes.push_back(node.host.value);
  }
}

View removal_view(const std::vector<Removal>& removals, bool dry_run) {
  View view;
  view.root = document("environment-removal");
  view.root["environments"] = Json::array();
  view.root["dry_run"] = dry_run;
  view.table.columns = {{"ENVIRONMENT"}, {"NODES"}, {"PREFIX", true}, {"DONE"}};
  view.when_empty = "no environments";
  for (const Removal& one : removals) {
    view.root["environments"].push_back(
        {{"name", one.name}, {"prefix", one.prefix}, {"nodes", one.nodes}});
    view.table.rows.push_back(
        {one.name, fold_names(one.nodes), one.prefix, dry_run ? "nothing" : "removed"});
    view.names.push_back(one.name);
  }
  return view;
}

/// Removes environments under one prefix, and adds the further ones that nodes report. Returns the
/// exit code.
int remove_below(Context& context, const EnvCluster& cluster, const std::string& prefix,
                 const EnvRemoveOptions& options, PrefixQueue& prefixes,
                 std::vector<Removal>& removals) {
  const auto looked = envs::look_at_nodes(cluster.access(), cluster.hosts(), prefix);
  for (const auto& node : looked)
    if (node.ok()) prefixes.add(node.value());
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

PrefixQueue prefixes_to_clean(EnvCluster& cluster, const EnvRemoveOptions& options) {
  if (options.all) return cluster.prefixes();
  return {{cluster.find(options.name)}, Reported::ignored};
}

bool has_all_nodes(Context& context, const EnvCluster& cluster) {
  return cluster.hosts().size() == context.store().nodes(cluster.target().cluster.id).size();
}

/// Forgets what was removed. The used prefixes stay if other nodes of the cluster may have them.
void forget_removed(Context& context, EnvCluster& cluster, const EnvRemoveOptions& options) {
  envs::EnvironmentsRecord& record = cluster.record();
  const std::set<std::string> used = record.used_prefixes;
  if (!options.all)
    envs::forget(record, options.name);
  else if (options.target.prefix.empty())
    record = {};
  else
    envs::forget_prefix(record, options.target.prefix);
  if (!has_all_nodes(context, cluster)) record.used_prefixes = used;
  cluster.store_record();
}

/// Returns the words for what is to be removed: "environment 'train'".
std::string subject_of(const EnvRemoveOptions& options) {
  if (!options.all) return "environment '" + options.name + "'";
  return options.target.prefix.empty() ? "its environments"
                                       : "its environments in " + options.target.prefix;
}

/// Throws conflict while a job runs in an environment that is to be removed, or waits to.
void require_unused(Context& context, EnvCluster& cluster, const EnvRemoveOptions& options) {
  const std::string prefix = options.all ? options.target.prefix : cluster.find(options.name);
  const auto is_meant = [&](const state::UsedEnvironment& used) {
    return (options.all || used.name == options.name) && (prefix.empty() || used.prefix == prefix);
  };
  refuse_while_used(jobs_using(context, cluster.target().cluster, cluster.target().nodes, is_meant),
                    subject_of(options));
}

bool may_remove(Context& context, const EnvCluster& cluster, const EnvRemoveOptions& options) {
  const std::string what =
      options.all ? "all environments" +
                        (options.target.prefix.empty() ? "" : " in " + options.target.prefix)
                  : subject_of(options);
  if (consents(context, options.yes,
               "Remove " + what + " from " + counted(cluster.hosts().size(), "node") +
                   " of cluster " + cluster.target().cluster.name.value + "?"))
    return true;
  context.ui().note("nothing removed");
  return false;
}

int remove(Context& context, const EnvRemoveOptions& options) {
  if (options.all == !options.name.empty())
    throw Error(ErrorKind::usage, "env remove: name an environment, or use --all");
  EnvTarget target = options.target;
  target.cluster = usual_cluster(context, target.cluster, "env remove", Purpose::remove);
  EnvCluster cluster(context, target);
  require_unused(context, cluster, options);
  if (!options.dry_run) {
    if (!may_remove(context, cluster, options)) return 1;
    cluster.lock();
    require_unused(context, cluster, options);  // One may have started during the question.
  }
  int code = 0;
  std::vector<Removal> removals;
  PrefixQueue prefixes = prefixes_to_clean(cluster, options);
  while (const auto prefix = prefixes.next())
    code = std::max(code, remove_below(context, cluster, *prefix, options, prefixes, removals));
  context.ui().show(removal_view(removals, options.dry_run));
  if (code != 0 || options.dry_run) return code;
  forget_removed(context, cluster, options);
  return 0;
}

}  // namespace

Action make_env_remove_command(Arguments& arguments) {
  auto options = std::make_shared<EnvRemoveOptions>();
  arguments.text("NAME", "", "The environment", options->name).values = Values::environment;
  describe_env_target(arguments, options->target);
  arguments.flag("--all", "Remove all environments and everything that came with them",
                 options->all);
  arguments.flag("--dry-run", "Show what would be removed, without removing it", options->dry_run);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return remove(context, *options); };
}

}  // namespace fastgpu::cli
