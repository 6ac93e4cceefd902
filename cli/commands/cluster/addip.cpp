// addip: lets one more range of addresses log in to a cluster, or lets it log in no longer.
#include <algorithm>
#include <memory>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct AddipOptions : ClusterOptions {
  std::vector<std::string> ssh_from;
  bool all = false;
  bool remove = false;
  bool yes = false;
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

/// Returns the cluster as it is recorded after `change`. Throws if it may not be changed.
template <class Change>
state::Cluster planned(Context& context, const state::Cluster& cluster, Change change) {
  state::Cluster planned = provision::look_before_change(context.tools(), cluster.name).cluster;
  state::CloudSpec spec = planned.cloud();
  change(spec);
  planned.provider_spec = std::move(spec);
  return planned;
}

/// Lets `ranges` log in and returns the changed cluster. Under --dry-run changes only the returned
/// cluster.
state::Cluster opened(Context& context, const AddipOptions& options, const state::Cluster& cluster,
                      const std::vector<IpRange>& ranges) {
  const auto change = [&](state::CloudSpec& spec) { let_in(spec, ranges); };
  if (options.dry_run) return planned(context, cluster, change);
  state::Cluster changed = with_tools(context, options, [&](const provision::Tools& tools) {
    return provision::change_shared(tools, cluster.name, change);
  });
  publish_record(context, cluster.name);
  return changed;
}

/// Throws not_found, with the ranges that may log in, if one of `ranges` may not.
void check_may_log_in(Context& context, const state::Cluster& cluster,
                      const std::vector<IpRange>& ranges) {
  const std::vector<IpRange> there = provision::open_ranges(context.tools(), cluster);
  std::string names;
  for (const IpRange& range : there)
    append_item(names, range.text());
  for (const IpRange& range : ranges)
    if (!contains(there, range))
      throw Error(ErrorKind::not_found, "addip: " + range.text() + " may not log in to cluster " +
                                            cluster.name.value +
                                            (names.empty() ? "" : "; these ranges may: " + names));
}

/// Lets `ranges` log in no longer and returns the changed cluster. Under --dry-run changes only the
/// returned cluster.
state::Cluster closed(Context& context, const AddipOptions& options, const state::Cluster& cluster,
                      const std::vector<IpRange>& ranges) {
  if (!options.all) check_may_log_in(context, cluster, ranges);
  if (options.dry_run)
    return planned(context, cluster, [&](state::CloudSpec& spec) {
      std::erase_if(spec.ssh_from, [&](const IpRange& range) { return contains(ranges, range); });
    });
  state::Cluster changed = with_tools(context, options, [&](const provision::Tools& tools) {
    return provision::close_ranges(tools, cluster.name, ranges);
  });
  publish_record(context, cluster.name);
  return changed;
}

/// Returns true if these ranges may be opened. Asks for those that have a large part of the world.
bool may_open(Context& context, const AddipOptions& options, const std::vector<IpRange>& ranges) {
  if (!options.remove) warn_of_world(context.ui(), ranges);
  const bool has_world = std::ranges::any_of(ranges, &IpRange::is_world);
  if (options.remove || options.dry_run || !has_world) return true;
  if (consents(context, options.yes, "Open port 22 to so many addresses?")) return true;
  context.ui().note("nothing opened");
  return false;
}

int run(Context& context, const AddipOptions& options) {
  std::vector<IpRange> ranges = parse_ssh_from(options.ssh_from);
  const std::vector<state::Cluster> clusters = clusters_of(context, options);
  if (!may_open(context, options, ranges)) return 1;
  if (ranges.empty()) ranges = {context.clouds().own_address()};
  View view;
  view.root = document("access");
  view.root["clusters"] = Json::array();
  view.table.columns = {{"CLUSTER"}, {"SSH FROM"}};
  for (const state::Cluster& cluster : clusters) {
    const state::Cluster changed = options.remove ? closed(context, options, cluster, ranges)
                                                  : opened(context, options, cluster, ranges);
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
  arguments.flag("--remove", "Close port 22 to the range instead", options->remove);
  describe_consent(arguments, options->yes);
  describe_dry_run(arguments, options->dry_run);
  arguments.flag("--all", "Change all clusters in clouds", options->all).letter = "-a";
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
