// guard: when a cluster stops or ends by itself.
#include <memory>

#include "base/fault_point.hpp"
#include "base/units.hpp"
#include "cli/commands/cloud_options.hpp"
#include "cli/commands/cluster_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/guard_options.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/commands/views.hpp"
#include "cli/guarding.hpp"
#include "cli/record.hpp"
#include "cli/ui/text.hpp"
#include "provision/held_cluster.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  GuardOptions guards;
};

std::string text_of(const std::optional<std::chrono::seconds>& time) {
  return time ? to_string(std::chrono::milliseconds(*time)) : "-";
}

View view_of_guards(const state::Cluster& cluster, const Standing& standing) {
  View view;
  view.root = document("guards");
  view.root["cluster"] = cluster.name.value;
  view.root.update(guard_fields(standing));
  view.names = {cluster.name.value};
  view.table.columns = {{"MAX LIFE"},    {"MAX COST"}, {"UNATTENDED"}, {"IDLE STOP"},
                        {"IDLE DELETE"}, {"COST"},     {"ENDS"}};
  const provision::Guards& guards = standing.guards;
  view.table.rows.push_back(
      {text_of(guards.max_life), guards.max_cost ? number_text(*guards.max_cost) : "-",
       text_of(guards.unattended), text_of(guards.idle_stop), text_of(guards.idle_delete),
       cost_text(standing), standing.end ? timestamp(standing.end->when) : "never"});
  return view;
}

/// Puts the wish on record, under the cluster's lock.
void write_guards(Context& context, const Options& options, const ClusterName& name) {
  const provision::Tools tools = tools_for(context, options);
  const provision::HeldCluster held(tools, name);
  provision::require_ours(tools, held.cluster());
  state::Cluster cluster = held.cluster();
  const Standing standing = standing_of(context.store(), cluster, std::chrono::system_clock::now());
  const auto guards = with_options(standing.guards, options.guards, standing.price);
  check_guards(guards, cluster.provider, standing.price);
  cluster.spec_json = provision::with_guards(cluster.spec_json, guards);
  context.store().update_cluster(cluster);
  fault_point("guard:written");
}

int run(Context& context, const Options& options) {
  const ClusterName name = parse_cluster_name(options.name);
  const bool is_question = says_nothing(options.guards);
  if (!is_question) write_guards(context, options, find_cluster(context, options.name).name);
  arrange_guards(context, find_cluster(context, options.name).id, Occasion::guarded, Reach::nodes);
  if (!is_question) publish_record(context, name);
  const state::Cluster cluster = find_cluster(context, name.value);
  context.ui().show(view_of_guards(
      cluster, standing_of(context.store(), cluster, std::chrono::system_clock::now())));
  return 0;
}

}  // namespace

Action describe_guard_cluster(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_cluster_options(arguments, *options);
  describe_guard_options(arguments, options->guards);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
