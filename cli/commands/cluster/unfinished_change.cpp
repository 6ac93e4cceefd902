#include "cli/commands/cluster/unfinished_change.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/counted.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

bool may_run(const state::Node& node) {
  return node.state != state::NodeState::stopped && node.state != state::NodeState::lost;
}

}  // namespace

std::string running_text(const state::Cluster& cluster, std::span<const state::Node> nodes,
                         const std::optional<Money>& per_hour) {
  const auto running = std::ranges::count_if(nodes, may_run);
  std::string text = std::to_string(running) + " of " + counted(nodes.size(), "node") +
                     " of cluster " + cluster.name.value + (running == 1 ? " runs" : " run");
  const bool is_free = per_hour && per_hour->amount <= 0;
  if (running > 0 && !is_free)
    text += per_hour ? ", for " + price_text(per_hour, 1) : " and may cost money";
  return text;
}

std::string running_text(Context& context, const state::Cluster& cluster) {
  const std::vector<state::Node> nodes = context.store().nodes(cluster.id);
  std::optional<Money> price =
      guard_status_of(context.store(), cluster, std::chrono::system_clock::now()).price;
  if (price) price = *price * static_cast<int>(std::ranges::count_if(nodes, may_run));
  return running_text(cluster, nodes, price);
}

bool may_leave_nodes(const UnfinishedChange& change, ErrorKind kind) {
  switch (kind) {
    case ErrorKind::interrupted:
    case ErrorKind::timeout:
      return true;
    case ErrorKind::denied:
    case ErrorKind::capacity:
    case ErrorKind::transient:
    case ErrorKind::remote:
      return !change.stop.empty();
    case ErrorKind::usage:
    case ErrorKind::not_found:
    case ErrorKind::conflict:
    case ErrorKind::local:
    case ErrorKind::internal:
      return false;
  }
  return false;
}

Error with_rest(Context& context, const UnfinishedChange& change, const Error& failure) {
  if (!may_leave_nodes(change, failure.kind())) return failure;
  const auto cluster = context.store().find_cluster(change.cluster);
  if (!cluster) return failure;
  const std::vector<state::Node> nodes = context.store().nodes(cluster->id);
  const bool is_cut =
      failure.kind() == ErrorKind::interrupted || failure.kind() == ErrorKind::timeout;
  const bool costs = provision::is_cloud(cluster->provider) && std::ranges::any_of(nodes, may_run);
  if (!is_cut && !costs) return failure;
  std::string text = std::string(failure.what()) + "; " + running_text(context, *cluster) + "; `" +
                     change.command + "` continues";
  if (costs && !change.stop.empty() && change.stop != change.command)
    text += "; `" + change.stop + "` stops " + (nodes.size() == 1 ? "it" : "them");
  return {failure.kind(), text};
}

}  // namespace fastgpu::cli
