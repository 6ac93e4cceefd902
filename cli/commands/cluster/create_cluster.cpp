#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/host_names.hpp"
#include "base/units.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/cluster/guard_options.hpp"
#include "cli/commands/cluster/plan_table.hpp"
#include "cli/commands/cluster/wanted_cluster.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/checked_flag.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/cloud/data_disk.hpp"
#include "provision/cloud/trial.hpp"
#include "provision/first_contact.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the price of all nodes per hour; "none" if they are not in a cloud.
std::string price_of(const WantedCluster& wanted) {
  return wanted.plan ? plan_price(*wanted.plan, wanted.spec.nodes) : "none";
}

/// Returns the steps that give each node its storage.
std::vector<std::string> storage_steps(const provision::cloud::CloudSpec& spec) {
  std::vector<std::string> steps;
  if (const provision::DataDisk& disk = spec.request.data_disk; disk.gib > 0)
    steps.push_back("attach to each node a data disk of " + std::to_string(disk.gib) + " GiB" +
                    (disk.type.empty() ? "" : " (" + disk.type + ")") + " at " +
                    std::string(provision::kDataPath));
  for (const auto& [source, path] : spec.mounts)
    steps.push_back("mount " + source + " at " + path + " on each node");
  return steps;
}

View view_of(const provision::ClusterPlan& plan, const WantedCluster& wanted) {
  View view;
  view.root = document("plan");
  view.root["plan"] = Json(provision::to_json(plan));
  view.root["plan"].erase("schema");
  put_price(view.root, Money{0, kUsd});
  if (wanted.plan) {
    const auto price = price_of_a_node(wanted);
    put_price(view.root, price ? std::optional(*price * wanted.spec.nodes) : price);
    view.root["places"] = plan_json(*wanted.plan, wanted.spec.nodes);
    view.root["offers"] = view_of_offers(wanted.plan->offers).root["offers"];
    view.root.update(storage_fields(wanted.plan->spec.request.data_disk, wanted.plan->spec.mounts));
  }
  view.table.columns = {{"STEP"}};
  std::vector<std::string> steps = provision::describe(plan);
  if (wanted.plan && plan.kind != provision::PlanKind::unchanged)
    std::ranges::move(storage_steps(wanted.plan->spec), std::back_inserter(steps));
  if (wanted.spec.scheduler == state::Scheduler::slurm)
    steps.emplace_back("set up Slurm on each node");
  for (const std::string& step : steps) {
    view.table.rows.push_back({step});
    view.names.push_back(step);
  }
  view.when_empty = "nothing to do: the cluster already matches the request";
  return view;
}

void show_next_steps(Ui& ui, const state::Cluster& cluster, std::span<const state::Node> nodes) {
  const std::string& name = cluster.name.value;
  int slots = 0;
  bool running = true;
  for (const state::Node& node : nodes) {
    slots += node.slots;
    running = running && node.state == state::NodeState::running;
  }
  std::vector<std::string> next;
  if (!running) next.push_back("fastgpu get nodes " + name);
  next.push_back("fastgpu ssh " + name);
  const std::string engine = has_own_slurm(cluster) ? " --engine slurm" : "";
  next.push_back("fastgpu run job --cluster " + name + engine + " -np " + std::to_string(slots) +
                 " -- hostname");
  next.push_back("fastgpu delete cluster " + name);
  ui.next_steps(next);
}

/// Warns if the cloud's timers would end the cluster later than its guards demand. Throws if that
/// would cost more than they allow.
void warn_of_late_end(Context& context, const WantedCluster& wanted) {
  std::optional<Money> per_hour = price_of_a_node(wanted);
  if (per_hour) per_hour = *per_hour * wanted.spec.nodes;
  const std::string late =
      late_end_of_new(context, wanted.spec.provider, wanted.spec.guards, per_hour);
  if (!late.empty()) context.ui().warn(late);
}

/// Warns of what the plan does not keep: an end that comes late, and a data disk that the cloud may
/// not have.
void warn_of_plan(Context& context, const WantedCluster& wanted) {
  warn_of_late_end(context, wanted);
  if (!wanted.plan) return;
  const std::string unknown = provision::cloud::unknown_disk_type(
      wanted.plan->spec.request.data_disk, wanted.spec.provider);
  if (!unknown.empty()) context.ui().warn(unknown);
}

/// Returns the time after which failed calls are not repeated: the deadline, and the time for which
/// partial capacity is kept.
Clock::time_point last_retry(const provision::Tools& tools, const provision::GangPolicy& holding) {
  const bool is_unlimited = holding.most_cost && holding.longest.count() == 0;
  return is_unlimited ? Clock::time_point::max() : tools.deadline + holding.longest;
}

/// Returns true if another cloud may accept what one has refused: it has no machines, or the
/// account there cannot pay or lacks a permission.
bool may_be_had_elsewhere(const Error& refusal) {
  return refusal.kind() == ErrorKind::capacity || refusal.kind() == ErrorKind::denied;
}

/// Creates the cluster. If a cloud refuses and nothing is left of the attempt, tries the next
/// cloud.
provision::CreateResult create_somewhere(Context& context, const provision::Tools& tools,
                                         WantedCluster& wanted,
                                         const CreateClusterOptions& options) {
  const auto on_failure = options.keep ? provision::OnFailure::keep : provision::OnFailure::remove;
  const auto until = options.detach ? provision::Until::accepted : provision::Until::nodes_answer;
  std::set<std::string> refused;
  for (;;) {
    try {
      return in_time(context, last_retry(tools, wanted.spec.holding), [&] {
        return provision::create_cluster(tools, wanted.spec, on_failure, until);
      });
    } catch (const Error& e) {
      if (!may_be_had_elsewhere(e) || !wanted.plan ||
          context.store().find_cluster(wanted.spec.name))
        throw;
      refused.insert(wanted.spec.provider);
      auto elsewhere = plan_elsewhere(*wanted.plan, refused);
      if (!elsewhere) throw;
      wanted.plan = std::move(elsewhere);
      take_over_plan(wanted);
      context.ui().note(std::string(e.what()) + ": trying " + wanted.spec.provider + " for " +
                        price_of(wanted));
      warn_of_plan(context, wanted);
    }
  }
}

/// Shows how many nodes of a detached creation are still starting, and what will wait for them.
void tell_unmet(Context& context, const state::Cluster& cluster) {
  const std::size_t count = provision::unmet_nodes(context.store(), cluster.id).size();
  if (count == 0) return;
  context.ui().note("cluster " + cluster.name.value + ": " + counted(count, "machine") +
                    (count == 1 ? " is" : " are") +
                    " starting; the first command that uses the nodes waits for them and creates "
                    "their own host keys");
}

/// Shows that RDMA uses only one network card: EC2 gives no public address to a machine with
/// several network interfaces.
void tell_idle_cards(Context& context, const provision::cloud::CloudSpec& spec) {
  const provision::cloud::Place& best = spec.places.front();
  if (!spec.rdma || best.rdma_interfaces < 2 ||
      spec.public_address == provision::cloud::PublicAddress::none)
    return;
  context.ui().note("nodes with a public address use one of their " +
                    std::to_string(best.rdma_interfaces) +
                    " network cards for RDMA: use --public-address none for all of them");
}

/// Warns of ranges that may log in although this command does not name them: a repeated creation
/// removes no range.
void warn_of_others_let_in(Ui& ui, const state::Cluster& cluster, const WantedCluster& wanted) {
  if (!wanted.plan) return;
  const auto& ranges = wanted.plan->spec.ssh_from;
  for (const IpRange& there : cluster.cloud().ssh_from)
    if (!contains(ranges, there))
      ui.warn("cluster " + cluster.name.value + " also allows SSH from " + there.text() +
              ", a range that this command does not name");
}

void tell_unchanged(Context& context, const provision::ClusterView& view,
                    const CreateClusterOptions& options) {
  Ui& ui = context.ui();
  const std::string name = view.cluster.name.value;
  refuse_ended(context, view.cluster);
  if (view.cluster.state == state::ClusterState::degraded)
    ui.warn("cluster " + name + " already exists but is degraded: `" +
            provision::start_command(view.cluster.name, view.nodes) + "` makes all nodes run");
  else
    ui.note("cluster " + name + " already exists and matches the request" +
            (options.accept_host_keys ? "; `fastgpu start cluster " + name +
                                            " --accept-host-keys` pins host keys that have changed"
                                      : ""));
}

/// Asks the cloud, without a launch, whether the account may launch the planned machines.
void try_launch(Context& context, const WantedCluster& wanted) {
  provision::cloud::Cloud& cloud = context.cloud(wanted.spec.provider);
  const auto outcome = provision::cloud::try_best_place(cloud, wanted.plan->spec, wanted.spec.nodes,
                                                        context.cancel());
  if (outcome == provision::cloud::TrialOutcome::accepted)
    context.ui().note(wanted.spec.provider + " accepted a trial launch of these machines");
}

int plan(Context& context, const WantedCluster& wanted) {
  Ui& ui = context.ui();
  const provision::ClusterPlan plan = provision::plan_cluster(context.tools(), wanted.spec);
  const bool buys = wanted.plan && plan.kind != provision::PlanKind::unchanged;
  if (buys && ui.for_people()) {
    if (!wanted.plan->offers.usable.empty()) ui.show(view_of_offers(wanted.plan->offers));
    View view;
    view.table = plan_table(*wanted.plan, wanted.spec.nodes);
    ui.show(view);
  }
  if (buys) warn_of_world(ui, wanted.plan->spec.ssh_from);
  if (buys) warn_of_plan(context, wanted);
  ui.show(view_of(plan, wanted));
  const bool is_bought_already = wanted.plan && !buys;
  ui.note((is_bought_already ? "" : "price: " + price_of(wanted) + "; ") + "nothing was changed");
  if (wanted.plan && plan.kind == provision::PlanKind::create) try_launch(context, wanted);
  return 0;
}

std::string machines_text(const provision::ClusterSpec& spec) {
  return counted(spec.nodes, "machine") + " of " + spec.provider;
}

/// Shows what will be bought, and asks for consent unless the user has given it. Returns false if
/// the user refuses.
bool may_buy(Context& context, const WantedCluster& wanted, const CreateClusterOptions& options) {
  if (!wanted.plan || context.store().find_cluster(wanted.spec.name)) return true;
  Ui& ui = context.ui();
  warn_of_world(ui, wanted.plan->spec.ssh_from);
  warn_of_plan(context, wanted);
  const Table table = plan_table(*wanted.plan, wanted.spec.nodes);
  const std::string what = machines_text(wanted.spec) + " for " + price_of(wanted);
  if (has_consent(context, options.yes)) {
    ui.note_table(table);
    ui.note("creating " + what);
    return true;
  }
  ui.question_table(table);
  return consents(context, options.yes, "create " + what + "?");
}

/// Returns the tools for a creation whose planning has taken `spent` of the time limit.
provision::Tools tools_after(Context& context, const ClusterOptions& options,
                             Clock::time_point::duration spent) {
  ClusterOptions left = options;
  const auto rest = options.timeout.value_or(kDefaultTimeout) - spent;
  left.timeout = std::chrono::ceil<std::chrono::milliseconds>(rest);
  return tools_for(context, left);
}

int run(Context& context, const CreateClusterOptions& options) {
  const Clock::time_point began = context.clock().now();
  const Clock::time_point deadline = began + options.timeout.value_or(kDefaultTimeout);
  WantedCluster wanted = in_time(context, deadline, [&] { return wanted_of(context, options); });
  const provision::ClusterSpec& spec = wanted.spec;
  const std::string& name = spec.name.value;
  Ui& ui = context.ui();
  if (options.dry_run) return in_time(context, deadline, [&] { return plan(context, wanted); });
  const auto planning = context.clock().now() - began;  // The wait for consent does not count.
  if (!may_buy(context, wanted, options)) return 1;
  if (wanted.plan && provision::provider_info(spec.provider).has_one_card_with_address)
    tell_idle_cards(context, wanted.plan->spec);
  const std::string delete_command = "fastgpu delete cluster " + name;
  context.set_interrupt_hint("cluster " + name +
                             " is incomplete; remove it with: " + delete_command + " --yes");
  context.set_stop_notice(options.keep ? "stopping; the incomplete cluster " + name + " stays"
                                       : "stopping; removing the incomplete cluster " + name);
  const provision::Tools tools = tools_after(context, options, planning);
  auto made = create_somewhere(context, tools, wanted, options);
  context.set_stop_notice("stopping; cluster " + name + " stays");
  context.set_interrupt_hint("cluster " + name + " exists; remove it with: " + delete_command);
  if (spec.scheduler != state::Scheduler::none) record_scheduler(tools, spec.name, spec.scheduler);
  if (made.kind == provision::PlanKind::unchanged) {
    tell_unchanged(context, made.view, options);
    warn_of_others_let_in(ui, made.view.cluster, wanted);
  } else {
    keep_guards(context, spec.name, GuardUpdate::created,
                options.detach ? Scope::cloud_only : Scope::nodes);
  }
  if (options.detach)
    tell_unmet(context, made.view.cluster);
  else if (complete_first_contact(context, tools, made.view.cluster))
    made.view.nodes = context.store().nodes(made.view.cluster.id);
  else if (made.kind != provision::PlanKind::unchanged)
    publish_record(context, spec.name);
  if (spec.scheduler != state::Scheduler::none) {
    arrange_scheduler(context, spec.name);
    publish_record(context, spec.name);
  }
  if (*made.view.cluster.guards != spec.guards)
    ui.warn("its guards are unchanged: `fastgpu guard cluster " + name + "` changes them");
  show_cluster(context, made.view);
  show_next_steps(ui, made.view.cluster, made.view.nodes);
  return 0;
}

}  // namespace

Action make_create_cluster_command(Arguments& arguments) {
  auto options = std::make_shared<CreateClusterOptions>();
  describe_cluster_options(arguments, *options).required = false;
  shared(arguments.text("--provider", "WHERE",
                        "local (nodes on this machine), static (existing hosts) or a cloud",
                        options->provider))
      .values = Values::provider;
  shared(arguments.count("--nodes", "N", "Number of nodes (1)", options->nodes, 1,
                         provision::kMostNodes))
      .letter = "-n";
  shared(arguments.count("--slots", "S", "Slots per node: its number of ranks (1)", options->slots,
                         1, provision::kMostSlots));
  describe_cloud_options(arguments, options->cloud);
  arguments.group("Guard");
  describe_guard_options(arguments, options->guards);
  arguments.group("Local and static cluster");
  checked(arguments.text("--link-rate", "RATE", "Limit the network of each local node [1gbit]",
                         options->link_rate),
          parse_bit_rate);
  arguments
      .text("--hostfile", "FILE",
            "Read the hosts of a static cluster from a hostfile of Open MPI, MPICH or Slurm",
            options->host_file)
      .values = Values::path;
  arguments.flag("--accept-host-keys",
                 "Accept unknown host keys of static hosts, and print their fingerprints",
                 options->accept_host_keys);
  arguments.group("");
  arguments
      .text("--scheduler", "SCHEDULER", "Scheduler to set up on the nodes, for run job --engine",
            options->scheduler)
      .choices = {"slurm"};
  Argument& file =
      arguments.text("--file", "CLUSTER.YAML",
                     "Cluster file, or a list of hosts; - reads standard input", options->file);
  file.letter = "-f";
  file.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "Override a field of the cluster file", options->set);
  describe_dry_run(arguments, options->dry_run);
  arguments.flag(
      "--detach",
      "Return once the cloud has accepted the request; the next command waits for the nodes",
      options->detach);
  arguments.flag("--keep", "Keep a partially created cluster on failure", options->keep);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
