#include "cli/commands/job/taken_machines.hpp"

#include "base/contains.hpp"
#include "base/error.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::seconds kBetweenQuestionsToCloud{3};

/// Returns the nodes of the cluster as the cloud reports them; none if it does not answer.
std::vector<state::Node> nodes_now(Context& context, const ClusterName& cluster) try {
  return provision::look_before_change(context.tools(), cluster).nodes;
} catch (const Error&) {
  context.cancel().check();
  return {};
}

}  // namespace

std::vector<NodeName> without_machine(const std::vector<state::Node>& nodes,
                                      const launcher::JobRecord& record) {
  std::vector<NodeName> names;
  for (const state::Node& node : nodes) {
    const bool is_absent =
        node.state == state::NodeState::lost || node.state == state::NodeState::stopped;
    if (is_absent && contains(record.placement, node.name, &launcher::NodeRanks::node))
      names.push_back(node.name);
  }
  return names;
}

std::vector<NodeName> taken_without_notice(Context& context, const state::Cluster& cluster,
                                           const launcher::JobRecord& record,
                                           std::chrono::seconds patience) {
  if (!is_spot(cluster)) return {};
  const auto deadline = context.clock().now() + patience;
  for (;;) {
    const auto taken = without_machine(nodes_now(context, cluster.name), record);
    if (!taken.empty() || context.clock().now() >= deadline) return taken;
    context.clock().sleep(kBetweenQuestionsToCloud);
    context.cancel().check();
  }
}

}  // namespace fastgpu::cli
