#include "comm/simulator/formulas.hpp"

#include <algorithm>
#include <cmath>

namespace fastgpu::comm {
namespace {

double depth_of(int nodes) {
  return std::ceil(std::log2(nodes));
}

Rate slowest(const Spread& spread, const NetworkModel& network) {
  const Rate inside = std::min(network.inside.flow, network.inside.shared);
  const Rate across = network.across.shared;  // NCCL opens as many flows as the link needs.
  if (spread.nodes == 1) return inside;
  return spread.ranks_per_node == 1 ? across : std::min(inside, across);
}

}  // namespace

Seconds ring_time(int ranks, double bytes, const NetworkModel& network) {
  const double steps = ranks - 1;
  const double slice = bytes / ranks;
  const Seconds transfer =
      network.across.latency + network.across.flow.to_move(slice) + 2 * network.per_message;
  return 2 * steps * transfer + steps * network.reduce.to_move(slice);
}

Seconds recursive_doubling_time(int ranks, double bytes, const NetworkModel& network) {
  return std::log2(ranks) * (network.across.latency + network.across.flow.to_move(bytes) +
                             2 * network.per_message + network.reduce.to_move(bytes));
}

Seconds nccl_ring_time(const Spread& spread, double bytes, const NetworkModel& network) {
  const int ranks = spread.ranks();
  const int steps = 2 * (ranks - 1);
  const int crossings = spread.nodes > 1 ? std::min(2 * spread.nodes, steps) : 0;
  return (steps - crossings) * network.inside.latency + crossings * network.across.latency +
         slowest(spread, network).to_move(bytes * steps / ranks);
}

Seconds nccl_tree_time(const Spread& spread, double bytes, const NetworkModel& network) {
  const Seconds inside = 2 * (spread.ranks_per_node - 1) * network.inside.latency;
  const Seconds across = 2 * depth_of(spread.nodes) * network.across.latency;
  return inside + across + slowest(spread, network).to_move(2 * bytes);
}

NetworkModel together(const NetworkModel& network, std::span<const NetworkLink> beside) {
  NetworkModel sum = network;
  for (const NetworkLink& link : beside) {
    sum.across.latency = std::min(sum.across.latency, link.latency);
    sum.across.flow.bytes_per_second += link.flow.bytes_per_second;
    sum.across.shared.bytes_per_second += link.shared.bytes_per_second;
  }
  return sum;
}

Rate bus_bandwidth(int ranks, double bytes, Seconds duration) {
  return {2.0 * (ranks - 1) / ranks * bytes / duration.count()};
}

}  // namespace fastgpu::comm
