#include "provision/guard_end.hpp"

#include <algorithm>

#include "provision/providers.hpp"

namespace fastgpu::provision {
namespace {

bool is_spot_cluster(const state::Cluster& cluster) {
  const auto* cloud = std::get_if<state::CloudSpec>(&*cluster.provider_spec);
  return cloud != nullptr && cloud->request.market == state::Market::spot;
}

std::string_view option_of(EndCause cause) {
  switch (cause) {
    case EndCause::max_life:
      return "--max-life";
    case EndCause::max_cost:
      return "--max-cost";
    case EndCause::unattended:
      return "--unattended";
    case EndCause::idle:
      return "--idle-delete";
  }
  return "";
}

/// Returns the guard that ends machines however much they are used, if its limit is reached.
std::optional<EndCause> limit_reached(const Guards& guards, const Watched& watched,
                                      state::TimePoint now) {
  const Guards limits{.max_life = guards.max_life, .max_cost = guards.max_cost};
  const auto end = end_of(limits, watched, now);
  return end && end->when <= now ? std::optional(end->cause) : std::nullopt;
}

}  // namespace

bool has_no_machine(std::span<const state::Node> nodes) {
  return !nodes.empty() && std::ranges::all_of(nodes, [](const state::Node& node) {
    return node.state == state::NodeState::lost;
  });
}

Watched watched_of(const state::Store& store, const state::Cluster& cluster, const Money& price,
                   state::TimePoint now) {
  const auto runs = store.runs(cluster.id);
  const auto timer = store.timer(cluster.id);
  return {.created = cluster.created,
          .contact = timer ? timer->contact : cluster.created,
          .stopped = stopped_since(runs),
          .spending = spending_of(runs, price, now)};
}

std::optional<EndCause> ended_by_guard(const state::Cluster& cluster,
                                       std::span<const state::Node> nodes, const Watched& watched,
                                       state::TimePoint now) {
  const ProviderInfo provider = provider_info(cluster.provider);
  if (!provider.is_cloud || !has_no_machine(nodes)) return std::nullopt;
  return ended_by(*cluster.guards, watched, !provider.has_timer && !is_spot_cluster(cluster), now);
}

std::string guard_end_text(const state::Cluster& cluster, EndCause cause) {
  const std::string& name = cluster.name.value;
  return "the guard of cluster " + name + " ends it: " + reason_of(*cluster.guards, cause) +
         "; change the guard first (`fastgpu guard cluster " + name + " " +
         std::string(option_of(cause)) + " off`), or `fastgpu delete cluster " + name + "`";
}

void check_not_ended(const state::Store& store, const ClusterView& seen,
                     const std::optional<Money>& price) {
  const state::Cluster& cluster = seen.cluster;
  if (*cluster.guards == Guards{}) return;
  const auto now = std::chrono::system_clock::now();
  const Watched watched = watched_of(store, cluster, price.value_or(Money{0, kUsd}), now);
  if (const auto cause = ended_by_guard(cluster, seen.nodes, watched, now))
    throw Error(ErrorKind::conflict, guard_end_text(cluster, *cause));
}

void check_guards_let_run(const state::Store& store, const ClusterView& seen,
                          const std::optional<Money>& price) {
  check_not_ended(store, seen, price);
  const state::Cluster& cluster = seen.cluster;
  const auto now = std::chrono::system_clock::now();
  const Watched watched = watched_of(store, cluster, price.value_or(Money{0, kUsd}), now);
  if (const auto cause = limit_reached(*cluster.guards, watched, now))
    throw Error(ErrorKind::conflict, guard_end_text(cluster, *cause));
}

}  // namespace fastgpu::provision
