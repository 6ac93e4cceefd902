#include "launcher/departed_nodes.hpp"

#include <string>

#include "base/join.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns "node demo-2 is no longer in the cluster", "nodes demo-1, demo-2 are no longer ...".
std::string departure_of(std::span<const NodeName> nodes) {
  std::string names;
  for (const NodeName& node : nodes)
    append_item(names, node.value);
  const bool is_one = nodes.size() == 1;
  return (is_one ? "node " : "nodes ") + names + (is_one ? " is" : " are") +
         " no longer in the cluster";
}

}  // namespace

JobOutcome outcome_without(const std::vector<NodeName>& nodes) {
  JobOutcome outcome{.state = state::JobState::lost, .exit_code = 1, .reason = departure_of(nodes)};
  outcome.cause = JobEndCause::node_loss;
  outcome.lost = nodes;
  return outcome;
}

Error output_missing_from(std::span<const NodeName> nodes) {
  return {ErrorKind::not_found, departure_of(nodes) + ": the output of the ranks there is missing"};
}

}  // namespace fastgpu::launcher
