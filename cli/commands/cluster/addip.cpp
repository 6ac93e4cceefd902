// addip: lets one more range of addresses log in to a cluster.
#include <memory>

#include "base/contains.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct AddipOptions : ClusterOptions {
  std::vector<std::string> ssh_from;
  bool all = false;
  bool dry_run = false;
};

std::vector<state::Cluster> clusters_of(Context& context, const AddipOptions& options) {
  if (options.all != options.name.empty())
    throw Error(ErrorKind::usage, "addip: name a cluster, or use --all");
  if (!options.all) {
    const state::Cluster cluster = find_cluster(context, options.name);
    if (!provision::is_cloud(cluster.provider))
      throw Error(ErrorKind::usage,
                  "addip: cluster '" + options.name + "' is made by provider '" + cluster.provider +
                      "', which does not filter addresses: its nodes need no addip");
    return {cluster};
  }
  std::vector<state::Cluster> clusters = context.store().clusters();
  std::erase_if(clusters, [](const auto& c) { return !provision::is_cloud(c.provider); });
  return clusters;
}

/// Lets `ranges` log in, too.
void let_in(state::CloudSpec& spec, const std::vector<IpRange>& ranges) {
  for (const IpRange& range : ranges)
    if (!contains(spec.ssh_from, range)) spec.ssh_from.push_back(range);
}

/// Lets `ranges` log in and returns the changed cluster. Under --dry-run changes only the returned
/// cluster.
state::Cluster opened(Context& context, const AddipOptions& options, const state::Cluster& cluster,
                      const std::vector<IpRange>& ranges) {
  if (options.dry_run) {
    state::Cluster changed = provision::look_before_change(context.tools(), cluster.name).cluster;
    state::CloudSpec spec = changed.cloud();
    let_in(spec, ranges);
    changed.provider_spec = std::move(spec);
    return changed;
  }
  state::Cluster changed =
      provision::change_shared(tools_for(context, options), cluster.name,
                               [&](state::CloudSpec& spec) { let_in(spec, ranges); });
  publish_record(context, cluster.name);
  return changed;
}

int run(Context& context, const AddipOptions& options) {
  std::vector<IpRange> ranges = parse_ssh_from(options.ssh_from);
  const std::vector<state::Cluster> clusters = clusters_of(context, options);
  warn_of_world(context.ui(), ranges);
  if (ranges.empty()) ranges = {context.clouds().own_address()};
  View view;
  view.root = document("access");
  view.root["clusters"] = Json::array();
  view.table.columns = {{"CLUSTER"}, {"SSH FROM"}};
  for (const state::Cluster& cluster : clusters) {
    const state::Cluster changed = opened(context, options, cluster, ranges);
    Json allowed = Json::array();
    for (const IpRange& range : changed.cloud().ssh_from) {
      allowed.push_back(range.text());
      view.table.rows.push_back({cluster.name.value, range.text()});
    }
    view.names.push_back(cluster.name.value);
    view.root["clusters"].push_back({{"name", cluster.name.value}, {"ssh_from", allowed}});
  }
  view.when_empty = "no clusters in clouds";
  context.ui().show(view);
  if (options.dry_run) context.ui().note("dry run: nothing was changed");
  return 0;
}

}  // namespace

Action make_addip_command(Arguments& arguments) {
  auto options = std::make_shared<AddipOptions>();
  describe_cluster_options(arguments, *options).required = false;
  arguments.list("--ssh-from", "CIDR",
                 "Allow SSH from this range, too (the public address of this machine)",
                 options->ssh_from);
  describe_dry_run(arguments, options->dry_run);
  arguments.flag("--all", "Change all clusters in clouds", options->all).letter = "-a";
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
