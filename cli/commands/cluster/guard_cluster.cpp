// guard cluster: sets the conditions under which a cluster stops or is deleted automatically.
#include <algorithm>
#include <memory>
#include <optional>
#include <ratio>

#include "base/fault_point.hpp"
#include "base/host_names.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/cluster/guard_options.hpp"
#include "cli/commands/cluster/money_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "provision/held_cluster.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::cli {
namespace {

struct GuardClusterOptions : ClusterOptions {
  GuardOptions guards;
  std::vector<std::string> exchange_rates;
  bool yes = false;
  bool dry_run = false;
};

/// An end within this time is as good as a deletion now. It is asked about.
constexpr std::chrono::minutes kEndIsNear{1};

std::string text_of(const std::optional<std::chrono::seconds>& time) {
  return time ? to_string(std::chrono::milliseconds(*time)) : "-";
}

View view_of_guards(const state::Cluster& cluster, const GuardStatus& status) {
  View view;
  view.root = document("guards");
  view.root["cluster"] = cluster.name.value;
  view.root.update(guard_fields(status));
  view.names = {cluster.name.value};
  view.table.columns = {{"MAX LIFE"},    {"MAX COST"}, {"UNATTENDED"}, {"IDLE STOP"},
                        {"IDLE DELETE"}, {"COST"},     {"ENDS"}};
  const provision::Guards& guards = status.guards;
  view.table.rows.push_back(
      {text_of(guards.max_life), guards.max_cost ? to_string(*guards.max_cost) : "-",
       text_of(guards.unattended), text_of(guards.idle_stop), text_of(guards.idle_delete),
       cost_text(status), status.end ? utc_text(status.end->when) : "never"});
  return view;
}

/// Returns the cluster with its guards changed by the options. Throws ErrorKind::usage for guards
/// that cannot be enforced.
state::Cluster guarded(Context& context, const GuardClusterOptions& options,
                       state::Cluster cluster) {
  const GuardStatus status =
      guard_status_of(context.store(), cluster, std::chrono::system_clock::now());
  const auto guards = with_options(status.guards, options.guards, status.price,
                                   rates_for(context, options.exchange_rates));
  check_guards(guards, cluster.provider, status.price, is_spot(cluster));
  cluster.guards = guards;
  return cluster;
}

void show_guards(Context& context, const state::Cluster& cluster, const GuardStatus& status) {
  context.ui().show(view_of_guards(cluster, status));
  if (!status.end || !status.due) return;
  const auto left = status.end->when - std::chrono::system_clock::now();
  const double hours = std::chrono::duration<double, std::ratio<3600>>(left).count();
  std::optional<Money> cost;
  if (status.price) cost = status.spending.so_far + status.spending.per_hour * std::max(0.0, hours);
  const std::string late = late_end_text(cluster.provider, *status.due, status.end->when, cost);
  if (!late.empty()) context.ui().warn(late);
}

/// Returns when and why the guards delete the cluster, if that is at once or within kEndIsNear: "at
/// once, because its life of 5s is over"; empty if they leave more time. This command ends the time
/// without contact.
std::string sudden_end(const GuardStatus& status, state::TimePoint now) {
  if (status.ended || !status.bound || status.bound->when > now + kEndIsNear) return {};
  const bool is_over = status.bound->when <= now;
  const bool is_cost = status.bound->cause == provision::EndCause::max_cost;
  return (is_over ? "at once, because " : "within a minute, because then ") +
         provision::reason_of(status.guards, status.bound->cause) +
         (is_cost ? " (" + cost_text(status) + " so far)" : "");
}

/// Returns true if the guards leave the cluster time, or if the user agrees to its deletion.
bool may_guard(Context& context, const GuardClusterOptions& options,
               const state::Cluster& cluster) {
  const state::TimePoint now = std::chrono::system_clock::now();
  const state::Cluster wanted = guarded(context, options, cluster);
  const std::string end = sudden_end(guard_status_of(context.store(), wanted, now), now);
  if (end.empty() || has_consent(context, options.yes)) return true;
  const auto affected = affected_by(context, {cluster.name.value});
  const std::string question = "With these guards cluster " + cluster.name.value + " is deleted " +
                               end + ". " + question_of("Delete", affected);
  if (consents(context, options.yes, question)) return true;
  context.ui().note("nothing changed");
  return false;
}

int plan(Context& context, const GuardClusterOptions& options) {
  const state::Cluster cluster = find_cluster(context, options.name);
  provision::require_ours(context.tools(), cluster);
  const state::Cluster wanted = guarded(context, options, cluster);
  GuardStatus status = guard_status_of(context.store(), wanted, std::chrono::system_clock::now());
  if (status.end && status.due) status.end->when = *status.due;
  status.end = held(context, wanted, status.end);
  show_guards(context, wanted, status);
  const std::string end = sudden_end(status, std::chrono::system_clock::now());
  if (!end.empty()) context.ui().warn("the cluster would be deleted " + end);
  context.ui().note("dry run: nothing was changed");
  return 0;
}

/// Records the new guards, under the cluster's lock.
void write_guards(Context& context, const GuardClusterOptions& options,
                  const provision::Tools& tools, const ClusterName& name) {
  const state::Cluster before = find_cluster(context, name.value);
  guarded(context, options, before);  // Throws for invalid guards before any node is contacted.
  contact_guard_nodes(context, tools, before);
  const provision::HeldCluster mine(tools, name);
  provision::require_ours(tools, mine.cluster());
  context.store().update_cluster(guarded(context, options, mine.cluster()));
  fault_point("guard:written");
}

int run(Context& context, const GuardClusterOptions& options) {
  if (options.dry_run) return plan(context, options);
  const ClusterName name = parse_cluster_name(options.name);
  const bool is_question = says_nothing(options.guards);
  if (!is_question && !may_guard(context, options, find_cluster(context, options.name))) return 1;
  if (!is_question)
    with_tools(context, options, [&](const provision::Tools& tools) {
      write_guards(context, options, tools, find_cluster(context, options.name).name);
    });
  arrange_guards(context, find_cluster(context, options.name).id, GuardUpdate::guarded,
                 Scope::nodes);
  if (!is_question) publish_record(context, name);
  const state::Cluster cluster = find_cluster(context, name.value);
  show_guards(context, cluster,
              guard_status_of(context.store(), cluster, std::chrono::system_clock::now()));
  return 0;
}

}  // namespace

Action make_guard_cluster_command(Arguments& arguments) {
  auto options = std::make_shared<GuardClusterOptions>();
  describe_cluster_options(arguments, *options);
  describe_guard_options(arguments, options->guards);
  describe_exchange_rates(arguments, options->exchange_rates);
  describe_consent(arguments, options->yes);
  describe_dry_run(arguments, options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
