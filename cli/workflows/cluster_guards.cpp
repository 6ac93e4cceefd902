#include "cli/workflows/cluster_guards.hpp"

#include <algorithm>
#include <ratio>

#include "base/time_text.hpp"
#include "cli/workflows/reachable_hosts.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "launcher/guard_orders.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/timers.hpp"
#include "provision/first_contact.hpp"
#include "provision/guard_end.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;
using provision::Guards;
using provision::cloud::Cloud;
using state::TimePoint;

/// The interval at which AWS recommends to look for a notice, which comes two minutes ahead.
constexpr std::chrono::milliseconds kBetweenNotices{5'000};

/// Returns the cluster's cloud; null if the cluster is not in a cloud.
Cloud* cloud_of(Services& services, const state::Cluster& cluster) {
  return provision::is_cloud(cluster.provider) ? &services.cloud(cluster.provider) : nullptr;
}

/// Returns true if the nodes themselves end the cluster by powering off: outside clouds, and in
/// clouds without timers, where powered-off machines cost nothing.
bool nodes_act(const Cloud* cloud) {
  return cloud == nullptr || !cloud->limits().has_timer;
}

std::vector<std::string> power_off_command(const state::Cluster& cluster) {
  std::vector<std::string> words = {"shutdown", "-P", "now"};
  if (provision::provider_info(cluster.provider).has_local_nodes) words = {"kill", "-TERM", "1"};
  if (cluster.user != "root") words.insert(words.begin(), {"sudo", "-n"});
  return words;
}

/// Returns a tenth of the shortest limit, between 1 s and 30 s, because each check costs processor
/// time.
std::chrono::milliseconds period_for(const agent::GuardOrder& order) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::chrono::seconds shortest = 5min;
  for (const auto limit : {order.idle, order.unattended, std::chrono::seconds(order.ends - now)})
    if (limit.count() > 0) shortest = std::min(shortest, limit);
  return std::max<std::chrono::milliseconds>(shortest / 10, 1s);
}

agent::GuardOrder order_for(const state::Cluster& cluster, const Guards& guards,
                            const std::optional<provision::End>& bound, bool acts) {
  agent::GuardOrder order;
  if (guards.idle_stop || guards.idle_delete)
    order.idle = guards.idle_stop ? *guards.idle_stop : *guards.idle_delete;
  order.period = period_for(order);
  if (!acts) return order;
  if (guards.unattended) order.unattended = *guards.unattended;
  if (bound)
    order.ends =
        std::chrono::system_clock::to_time_t(std::chrono::ceil<std::chrono::seconds>(bound->when));
  if (!order.is_empty()) order.off = power_off_command(cluster);
  order.period = period_for(order);
  return order;
}

/// Orders the nodes of a spot cluster to look for their cloud's notice that they will be taken
/// back.
void watch_for_notice(Services& services, const state::Cluster& cluster, agent::GuardOrder& order) {
  if (!is_spot(cluster)) return;
  order.cloud = cluster.provider;
  order.metadata = services.environment()("FASTGPU_METADATA_ENDPOINT").value_or("");
  order.period = std::min(order.period, kBetweenNotices);
}

/// Sends `order` to the nodes that have been reached. Returns true if the nodes have an order
/// afterwards. `had_order` says whether they had one before.
bool send_order(Services& services, const state::Cluster& cluster,
                const std::vector<state::Node>& nodes, const agent::GuardOrder& order,
                bool had_order) {
  const auto hosts = reachable_hosts(services, cluster, nodes);
  if ((order.is_empty() && !had_order) || hosts.empty()) return had_order;
  launcher::tell_guards(services.ssh(), hosts, order, services.agent(), services.cancel());
  return !order.is_empty();
}

/// Returns when the cloud should delete a machine that powers itself off; absent if the machine
/// should stay, stopped.
std::optional<TimePoint> fate_of(const Guards& guards, const std::optional<provision::End>& end,
                                 TimePoint now) {
  if (guards.idle_stop) return std::nullopt;
  if (end) return end->when;
  return guards.idle_delete ? std::optional(now) : std::nullopt;
}

/// Returns true if every running node reports that it has been idle for long enough.
bool is_idle(Services& services, const state::Cluster& cluster) {
  if (!provision::unmet_nodes(services.store(), cluster.id).empty()) return false;
  const auto hosts = reachable_hosts(services, cluster, services.store().nodes(cluster.id));
  const auto watches =
      launcher::watch_nodes(services.ssh(), hosts, services.agent(), services.cancel());
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return !watches.empty() && std::ranges::all_of(watches, [&](const auto& watch) {
    if (!watch.ok()) throw watch.error();
    return watch.value().because == "idle" && watch.value().powers_off <= now;
  });
}

/// Ends or stops one cluster if its guards require it and `carrying` is Execution::apply. Returns
/// what was done, or would be done; "" for nothing.
std::string carry_out(Services& services, const ClusterName& name, Execution carrying) {
  const provision::Tools tools = services.tools();
  const state::Cluster cluster = provision::refresh_cluster(tools, name).cluster;
  const TimePoint now = std::chrono::system_clock::now();
  GuardStatus status = guard_status_of(services.store(), cluster, now);
  // The limit on unattended clusters is left to the cloud or the nodes: they also know of contacts
  // from elsewhere.
  const bool is_over = (status.bound && status.bound->when <= now) || status.ended;
  const bool acts = nodes_act(cloud_of(services, cluster));
  const Guards& guards = status.guards;
  const bool judges_idle = (guards.idle_stop || guards.idle_delete) && !acts &&
                           cluster.state != state::ClusterState::stopped;
  if (!is_over && (!judges_idle || !is_idle(services, cluster))) return "";
  // If another state directory has taken the cluster over, that one enforces the guards.
  if (provision::is_taken(tools.providers(cluster.provider).list(cluster, tools.cancel))) return "";
  if (!is_over && guards.idle_stop) {
    if (carrying == Execution::apply) {
      provision::stop_cluster(tools, name);
      arrange_guards(services, cluster.id, GuardUpdate::changed, Scope::cloud_only);
    }
    return "stopped: its nodes were idle";
  }
  if (carrying == Execution::apply) provision::delete_cluster(tools, name);
  if (status.ended)
    return "deleted: its guard ended it: " + provision::reason_of(guards, *status.ended);
  return "deleted: " + (is_over ? provision::reason_of(guards, status.bound->cause)
                                : std::string("its nodes were idle"));
}

bool is_settled(const state::Cluster& cluster) {
  return cluster.state != state::ClusterState::creating &&
         cluster.state != state::ClusterState::deleting;
}

}  // namespace

GuardStatus guard_status_of(const state::Store& store, const state::Cluster& cluster,
                            TimePoint now) {
  GuardStatus status{.guards = *cluster.guards};
  status.price = Money{0, kUsd};
  if (provision::is_cloud(cluster.provider)) status.price = provision::cloud::price_of(cluster);
  status.runs = store.runs(cluster.id);
  const provision::Watched watched =
      provision::watched_of(store, cluster, status.price.value_or(Money{0, kUsd}), now);
  status.spending = watched.spending;
  const auto timer = store.timer(cluster.id);
  const provision::ProviderInfo provider = provision::provider_info(cluster.provider);
  status.end = provision::end_of(status.guards, watched, now);
  if (status.end) status.due = status.end->when;
  if (status.end && provider.has_timer && timer && timer->ends) status.end->when = *timer->ends;
  status.ended = provision::ended_by_guard(cluster, store.nodes(cluster.id), watched, now);
  Guards bounds = status.guards;
  bounds.unattended.reset();
  status.bound = provision::end_of(bounds, watched, now);
  return status;
}

void refuse_ended(Services& services, const state::Cluster& cluster) {
  const auto ended =
      guard_status_of(services.store(), cluster, std::chrono::system_clock::now()).ended;
  if (ended) throw Error(ErrorKind::conflict, provision::guard_end_text(cluster, *ended));
}

void check_guards(const Guards& guards, const std::string& provider,
                  const std::optional<Money>& price, bool is_spot) {
  if (guards == Guards{}) return;
  if (guards.idle_stop && is_spot && !provision::provider_info(provider).can_stop_spot)
    throw Error(ErrorKind::usage, "--idle-stop stops machines, but " + provider +
                                      " cannot stop spot machines: use --idle-delete instead");
  if (provision::provider_info(provider).needs_hosts_file)
    throw Error(ErrorKind::usage,
                "guards stop or delete machines, but fastgpu never stops or deletes the hosts of a "
                "static cluster");
  if (guards.max_cost && (!price || price->amount <= 0)) {
    const bool is_never_known = is_spot && !provision::provider_info(provider).has_spot_prices;
    throw Error(ErrorKind::usage, "--max-cost needs a price, but " +
                                      (is_never_known ? provider + " has no prices of spot machines"
                                                      : "the price of this cluster is unknown") +
                                      ": use --max-life instead");
  }
}

bool nodes_hold_guards(Services& services, const state::Cluster& cluster) {
  return nodes_act(cloud_of(services, cluster));
}

std::optional<provision::End> held(Services& services, const state::Cluster& cluster,
                                   std::optional<provision::End> wished) {
  const Cloud* const cloud = cloud_of(services, cluster);
  if (wished && cloud != nullptr && cloud->limits().has_timer)
    wished->when = provision::cloud::held_end(*cloud, wished->when);
  return wished;
}

std::string late_end_text(const std::string& provider, TimePoint due, TimePoint held,
                          const std::optional<Money>& cost) {
  constexpr std::chrono::minutes kSame{1};
  if (held - due <= kSame) return {};
  return "its guards would delete the cluster at " + utc_text(due) + ", but the timers of " +
         provider + " accept no time that is so close: it is deleted at " + utc_text(held) +
         (cost && cost->amount > 0 ? ", after about " + to_string(*cost) : "");
}

std::string late_end_of_new(Services& services, const std::string& provider, const Guards& guards,
                            const std::optional<Money>& per_hour) {
  if (!provision::is_cloud(provider) || !services.cloud(provider).limits().has_timer) return {};
  const TimePoint now = std::chrono::system_clock::now();
  const Money price = per_hour.value_or(Money{0, kUsd});
  const provision::Watched watched{
      .created = now, .contact = now, .spending = {.so_far = price * 0, .per_hour = price}};
  const auto end = provision::end_of(guards, watched, now);
  if (!end) return {};
  const TimePoint held = provision::cloud::held_end(services.cloud(provider), end->when);
  std::optional<Money> cost;
  if (per_hour) cost = price * std::chrono::duration<double, std::ratio<3600>>(held - now).count();
  const std::string text = late_end_text(provider, end->when, held, cost);
  if (text.empty() || !guards.max_cost || !cost || !(*guards.max_cost < *cost)) return text;
  throw Error(ErrorKind::usage, "--max-cost " + to_string(*guards.max_cost) +
                                    " cannot be kept: the timers of " + provider +
                                    " accept no time before " + utc_text(held) +
                                    ", and until then the cluster costs about " + to_string(*cost));
}

namespace {

/// Returns true if the machines' timers from the launch are still right: `end` is counted from the
/// creation of the cluster, and the cloud can set exactly this time.
bool has_launch_timer(const Cloud& cloud, const provision::End& end) {
  constexpr std::chrono::minutes kSame{1};
  return end.cause == provision::EndCause::max_life &&
         provision::cloud::held_end(cloud, end.when) - end.when < kSame;
}

}  // namespace

void arrange_guards(Services& services, const state::ClusterId& id, GuardUpdate occasion,
                    Scope reach) {
  state::Store& store = services.store();
  const auto cluster = store.find_cluster(id);
  if (!cluster || !is_settled(*cluster)) return;
  const auto before = store.timer(id);
  const TimePoint now = std::chrono::system_clock::now();
  state::Timer timer{
      .ends = {}, .contact = now, .nodes_have_order = before && before->nodes_have_order};
  if (*cluster->guards == Guards{} && !before && !is_spot(*cluster)) return;
  store.put_timer(id, timer);
  const GuardStatus status = guard_status_of(store, *cluster, now);
  const auto nodes = store.nodes(id);
  if (status.end) timer.ends = status.end->when;
  Cloud* const cloud = cloud_of(services, *cluster);
  const bool is_launched_so =
      occasion == GuardUpdate::created &&
      (!status.end || (cloud != nullptr && has_launch_timer(*cloud, *status.end)));
  if (cloud != nullptr && cloud->limits().has_timer && !is_launched_so)
    timer.ends = set_timers(*cloud, services.owner(cluster->provider).mark(), *cluster, nodes,
                            timer.ends, services.cancel());
  if (cloud != nullptr && !cloud->limits().has_timer && occasion == GuardUpdate::guarded)
    set_timers(*cloud, services.owner(cluster->provider).mark(), *cluster, nodes,
               fate_of(status.guards, status.end, now), services.cancel());
  auto order = order_for(*cluster, status.guards, status.bound, nodes_act(cloud));
  watch_for_notice(services, *cluster, order);
  if (reach == Scope::nodes)
    timer.nodes_have_order = send_order(services, *cluster, nodes, order, timer.nodes_have_order);
  store.put_timer(id, timer);
}

bool nodes_need_guards(Services& services, const state::Cluster& cluster, const Guards& guards) {
  if (is_spot(cluster)) return true;
  if (guards == Guards{}) return false;
  return guards.idle_stop || guards.idle_delete || nodes_act(cloud_of(services, cluster));
}

void keep_guards(Services& services, const ClusterName& name, GuardUpdate occasion, Scope reach) {
  const auto cluster = services.store().find_cluster(name);
  if (!cluster) return;
  try {
    arrange_guards(services, cluster->id, occasion, reach);
  } catch (const Error& e) {
    services.cancel().check();
    services.messages().warn("the guards of " + name.value + " are not in place: " + e.what() +
                             ": `fastgpu guard cluster " + name.value + "` repeats the attempt");
  }
}

std::vector<provision::Settled> carry_out_guards(Services& services, Execution carrying) {
  std::vector<provision::Settled> done;
  for (const state::Cluster& listed : services.store().clusters()) {
    if (*listed.guards == Guards{} || !is_settled(listed)) continue;
    provision::Settled item{listed.name.value, ""};
    try {
      if (item.what = carry_out(services, listed.name, carrying); item.what.empty()) continue;
    } catch (const Error& e) {
      services.cancel().check();
      item.what = "its guards";
      item.outcome = e;
    }
    done.push_back(std::move(item));
  }
  return done;
}

}  // namespace fastgpu::cli
