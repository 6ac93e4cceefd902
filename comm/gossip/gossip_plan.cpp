#include "comm/gossip/gossip_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/gradients/mixed_precision_reduce.hpp"

namespace fastgpu::comm {

Weights checked_weights(const GossipTopology& topology, int members, std::uint64_t step) {
  constexpr double kRounding = 1e-9;
  Weights weights = weights_of(graph_at(topology, members, step));
  if (!(deviation_of(weights) <= kRounding))
    throw Error(ErrorKind::internal, "the weights of gossip step " + std::to_string(step) +
                                         " do not add up for " + std::to_string(members) +
                                         " members");
  return weights;
}

GossipPlan::GossipPlan(const GossipSettings& settings, const Topology& topology, Rank rank)
    : topology_(settings.topology), members_(topology.ranks()), member_(rank.value) {
  if (has_two_levels(topology)) {
    const auto& node = topology.nodes[static_cast<std::size_t>(topology.node_of(rank))];
    places_ = node.size();
    place_ = static_cast<std::size_t>(std::ranges::find(node, rank) - node.begin());
    members_ = static_cast<int>(topology.nodes.size());
    member_ = static_cast<int>(std::ranges::count_if(
        topology.nodes, [&](const auto& each) { return each[place_] < rank; }));
  }
  if (settings.is_exact) {
    method_ = MixMethod::exact;
    rows_.emplace_back();
    return;
  }
  check_topology(topology_, members_);
  std::vector<Weights> round;
  WeightsKind kind = WeightsKind::symmetric;
  for (std::size_t step = 0; step < period_of(topology_, members_); ++step) {
    round.push_back(checked_weights(topology_, members_, step));
    rows_.push_back(round.back().rows[static_cast<std::size_t>(member_)]);
    kind = std::max(kind, round.back().kind);
  }
  method_ = method_of(settings, kind, fastgpu::comm::is_static(topology_, members_));
  contraction_ = contraction_of(round);
  if (method_ == MixMethod::difference) lag_ = lag_of(round.front());
}

MixingRow GossipPlan::row_at(std::uint64_t step) const {
  if (topology_.is_changing)
    return checked_weights(topology_, members_, step).rows[static_cast<std::size_t>(member_)];
  return rows_[step % rows_.size()];
}

}  // namespace fastgpu::comm
