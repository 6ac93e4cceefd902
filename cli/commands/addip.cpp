// addip: one more address that may log in.
#include <algorithm>
#include <memory>

#include "cli/commands/cluster_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/record.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  std::vector<std::string> ssh_from;
  bool all = false;
};

std::vector<state::Cluster> clusters_of(Context& context, const Options& options) {
  if (options.all != options.name.empty())
    throw Error(ErrorKind::usage, "addip: name a cluster, or all of them by --all");
  if (!options.all) {
    const state::Cluster cluster = find_cluster(context, options.name);
    if (!provision::is_cloud(cluster.provider))
      throw Error(ErrorKind::usage, "addip: cluster '" + options.name + "' is made by provider '" +
                                        cluster.provider +
                                        "', which keeps nobody out: there is nothing to open");
    return {cluster};
  }
  std::vector<state::Cluster> clusters = context.store().clusters();
  std::erase_if(clusters, [](const auto& c) { return !provision::is_cloud(c.provider); });
  return clusters;
}

/// The provider's part of a cluster with these ranges let in as well.
std::string letting_in(const std::string& spec_json, const std::vector<std::string>& ranges) {
  auto spec = provision::cloud::parse_cloud_spec(spec_json);
  for (const std::string& range : ranges)
    if (std::ranges::find(spec.ssh_from, range) == spec.ssh_from.end())
      spec.ssh_from.push_back(range);
  return provision::cloud::to_json_text(spec);
}

int run(Context& context, const Options& options) {
  const std::vector<state::Cluster> clusters = clusters_of(context, options);
  std::vector<std::string> ranges = options.ssh_from;
  if (ranges.empty()) ranges = {context.clouds().own_address()};
  View view;
  view.root = document("access");
  view.root["clusters"] = Json::array();
  view.table.columns = {{"CLUSTER"}, {"SSH FROM"}};
  for (const state::Cluster& cluster : clusters) {
    const state::Cluster changed =
        provision::change_shared(tools_for(context, options), cluster.name,
                                 [&](const std::string& spec) { return letting_in(spec, ranges); });
    publish_record(context, cluster.name);
    const auto allowed = provision::cloud::parse_cloud_spec(changed.spec_json).ssh_from;
    view.root["clusters"].push_back({{"name", cluster.name.value}, {"ssh_from", allowed}});
    view.names.push_back(cluster.name.value);
    for (const std::string& range : allowed)
      view.table.rows.push_back({cluster.name.value, range});
  }
  view.when_empty = "no cluster of a cloud";
  context.ui().show(view);
  return 0;
}

}  // namespace

Action describe_addip(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_cluster_options(arguments, *options).required = false;
  arguments.list("--ssh-from", "CIDR", "Who may log in too (this machine, as seen from outside)",
                 options->ssh_from);
  arguments.flag("--all", "All clusters of clouds", options->all).letter = "-a";
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
