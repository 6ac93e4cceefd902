#include "cli/commands/cluster/unfinished_change.hpp"

#include <algorithm>
#include <chrono>

#include "base/counted.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "cli/workflows/cluster_guards.hpp"

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

Error with_rest(Context& context, const UnfinishedChange& change, const Error& failure) {
  if (failure.kind() != ErrorKind::interrupted && failure.kind() != ErrorKind::timeout)
    return failure;
  const auto cluster = context.store().find_cluster(change.cluster);
  if (!cluster) return failure;
  return {failure.kind(), std::string(failure.what()) + "; " + running_text(context, *cluster) +
                              "; `" + change.command + "` continues"};
}

}  // namespace fastgpu::cli
