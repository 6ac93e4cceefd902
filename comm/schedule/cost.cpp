#include "comm/schedule/cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fastgpu::comm {
namespace {

/// The placement of a flat algorithm's ranks: on `nodes` nodes of `per_node` each.
struct Shape {
  int nodes = 1;
  int per_node = 1;

  int ranks() const { return nodes * per_node; }
};

class Cost {
 public:
  Cost(const Shape& shape, const Cut& cut, const NetworkModel& network)
      : shape_(shape), cut_(cut), network_(network), lanes_(std::min(cut.lanes, cut.pieces)) {}

  Seconds flat(Collective collective, Algorithm algorithm, double bytes) const {
    if (shape_.ranks() == 1) return {};
    switch (collective) {
      case Collective::all_reduce:
        return all_reduce(algorithm, bytes);
      case Collective::reduce_scatter:
        return half(algorithm, bytes, network_.reduce);
      case Collective::all_gather:
        return half(algorithm, bytes, kNoReduction);
      case Collective::broadcast:
        return algorithm == Algorithm::tree ? tree_pass(bytes, kNoReduction) : chain(bytes);
    }
    return {};
  }

  /// Returns the time in which one rank of a node takes the data of all others of the node, or
  /// gives it to them. `leaders` ranks do so at once, each with its share of `bytes`.
  Seconds within_node(double bytes, int leaders, Rate reduce) const {
    const double others = shape_.per_node - 1;
    if (others == 0) return {};
    const double share = bytes / leaders;
    const Seconds memory = network_.inside.shared.to_move(others * bytes);
    const Seconds flow = one_flow(network_.inside).to_move(share);
    const Seconds processor = others * (network_.per_message + reduce.to_move(share));
    return network_.inside.latency + 2 * network_.per_message +
           std::max({memory, flow, processor}) + reduce.to_move(share);
  }

 private:
  static constexpr Rate kNoReduction{1e30};

  Seconds all_reduce(Algorithm algorithm, double bytes) const {
    switch (algorithm) {
      case Algorithm::ring:
      case Algorithm::direct:
        return half(algorithm, bytes, network_.reduce) + half(algorithm, bytes, kNoReduction);
      case Algorithm::recursive_doubling:
        return doubling(bytes);
      case Algorithm::halving_doubling:
        return halving(bytes);
      case Algorithm::tree:
        return tree_pass(bytes, network_.reduce) + tree_pass(bytes, kNoReduction);
      case Algorithm::hierarchical:
        break;
    }
    return {};
  }

  Seconds half(Algorithm algorithm, double bytes, Rate reduce) const {
    return algorithm == Algorithm::direct ? direct_half(bytes, reduce) : ring_half(bytes, reduce);
  }

  Rate one_flow(const NetworkLink& link) const {
    return {std::min(link.flow.bytes_per_second * lanes_, link.shared.bytes_per_second)};
  }

  /// Returns a rank's share of the link if `busy` ranks of its node use it.
  Rate rate(const NetworkLink& link, int busy) const {
    return {std::min(one_flow(link).bytes_per_second, link.shared.bytes_per_second / busy)};
  }

  /// Returns the time of one message cut in pieces, each reduced while the next travels.
  Seconds step(double bytes, const NetworkLink& link, int busy, Rate reduce) const {
    const Seconds transfer = rate(link, busy).to_move(bytes);
    const Seconds reduction = reduce.to_move(bytes);
    const double rest = 1.0 / cut_.pieces;
    return link.latency + (1 + cut_.pieces) * network_.per_message + std::max(transfer, reduction) +
           rest * std::min(transfer, reduction);
  }

  /// Returns the time of a step between partners `distance` ranks apart.
  Seconds step_at(int distance, double bytes, Rate reduce) const {
    return distance < shape_.per_node || shape_.nodes == 1
               ? step(bytes, network_.inside, shape_.per_node, reduce)
               : step(bytes, network_.across, shape_.per_node, reduce);
  }

  Seconds ring_step(double bytes, Rate reduce) const {
    Seconds slowest{};
    if (shape_.per_node > 1) slowest = step(bytes, network_.inside, shape_.per_node, reduce);
    if (shape_.nodes > 1) slowest = std::max(slowest, step(bytes, network_.across, 1, reduce));
    return slowest;
  }

  Seconds ring_half(double bytes, Rate reduce) const {
    return (shape_.ranks() - 1) * ring_step(bytes / shape_.ranks(), reduce);
  }

  /// Returns the time of all messages at once: the longest of links, flows and processors.
  Seconds direct_half(double bytes, Rate reduce) const {
    const double slice = bytes / shape_.ranks();
    const double local = shape_.per_node - 1;
    const double remote = shape_.ranks() - shape_.per_node;
    const double messages = local + remote;
    const Seconds processor =
        messages * (2 * cut_.pieces * network_.per_message + reduce.to_move(slice));
    const Seconds memory = network_.inside.shared.to_move(shape_.per_node * local * slice);
    const Seconds wire = network_.across.shared.to_move(shape_.per_node * remote * slice);
    const NetworkLink& farthest = remote > 0 ? network_.across : network_.inside;
    const Seconds flow = one_flow(farthest).to_move(slice);
    return farthest.latency + 2 * network_.per_message + std::max({processor, memory, wire, flow}) +
           reduce.to_move(slice / cut_.pieces);
  }

  bool folds() const { return !std::has_single_bit(unsigned(shape_.ranks())); }
  int power() const { return static_cast<int>(std::bit_floor(unsigned(shape_.ranks()))); }

  Seconds folding(double bytes) const {
    if (!folds()) return {};
    return step_at(1, bytes, network_.reduce) + step_at(1, bytes, kNoReduction);
  }

  Seconds doubling(double bytes) const {
    const Cost whole(shape_, {}, network_);  // It is never cut.
    Seconds sum = whole.folding(bytes);
    for (int distance = 1; distance < power(); distance *= 2)
      sum += whole.step_at(distance, bytes, network_.reduce);
    return sum;
  }

  Seconds halving(double bytes) const {
    Seconds sum = folding(bytes);
    for (int distance = 1; distance < power(); distance *= 2) {
      const double part = bytes / (2.0 * distance);
      sum += step_at(distance, part, network_.reduce) + step_at(distance, part, kNoReduction);
    }
    return sum;
  }

  /// Returns the time of a pass along a tree. The first piece goes the whole depth; each further
  /// one costs the root's work for it, and the memory of its node.
  Seconds tree_pass(double bytes, Rate reduce) const {
    const double piece = bytes / cut_.pieces;
    const double depth = std::ceil(std::log2(shape_.ranks()));
    const double local = std::ceil(std::log2(shape_.per_node));
    const Cost whole(shape_, {.pieces = 1, .lanes = 1}, network_);
    const Seconds first = local * whole.step(piece, network_.inside, 1, reduce) +
                          (depth - local) * whole.step(piece, network_.across, 1, reduce);
    const Seconds links = std::max(network_.inside.shared.to_move((shape_.per_node - 1) * piece),
                                   network_.across.shared.to_move((depth - local) * piece));
    const Seconds processor = depth * (network_.per_message + reduce.to_move(piece));
    return first + (cut_.pieces - 1.0) * std::max({links, processor, flow_time(piece)});
  }

  Seconds flow_time(double bytes) const {
    return one_flow(shape_.nodes > 1 ? network_.across : network_.inside).to_move(bytes);
  }

  Seconds chain(double bytes) const {
    const Cost whole(shape_, {}, network_);
    const double piece = bytes / cut_.pieces;
    const double hops = shape_.ranks() - 1;
    const double crossings = shape_.nodes - 1;
    const Seconds first = crossings * whole.step(piece, network_.across, 1, kNoReduction) +
                          (hops - crossings) * whole.step(piece, network_.inside, 1, kNoReduction);
    const Seconds memory = network_.inside.shared.to_move(piece * (shape_.per_node - 1));
    return first +
           (cut_.pieces - 1.0) * std::max({flow_time(piece), memory, 2 * network_.per_message});
  }

  Shape shape_;
  Cut cut_;
  NetworkModel network_;
  int lanes_;
};

/// Returns the time between nodes. The leaders of a node share its outgoing link; pieces are not
/// cut any further.
Seconds across_nodes(const SchedulePlan& plan, int nodes, int leaders, double piece,
                     const NetworkModel& network) {
  NetworkModel shared = network;
  shared.across.shared.bytes_per_second /= leaders;
  return Cost({.nodes = nodes, .per_node = 1}, {}, shared)
      .flat(Collective::all_reduce, plan.across, piece / leaders);
}

Seconds hierarchical(const SchedulePlan& plan, double bytes, const Shape& shape,
                     const NetworkModel& network) {
  const int leaders = plan.leaders > 0 ? plan.leaders : shape.per_node;
  const double piece = bytes / plan.cut.pieces;
  const Cost cost(shape, {}, network);
  const Seconds in = cost.within_node(piece, leaders, network.reduce);
  const Seconds out = cost.within_node(piece, leaders, {1e30});
  const Seconds across = across_nodes(plan, shape.nodes, leaders, piece, network);
  return in + across + out + (plan.cut.pieces - 1) * std::max(in + out, across);
}

}  // namespace

Seconds predicted(const Choice& choice, const SchedulePlan& plan, const Topology& topology,
                  const NetworkModel& network) {
  const Shape shape{static_cast<int>(topology.nodes.size()), topology.largest_node()};
  if (plan.algorithm == Algorithm::hierarchical)
    return hierarchical(plan, choice.bytes, shape, network);
  return Cost(shape, plan.cut, network).flat(choice.collective, plan.algorithm, choice.bytes);
}

}  // namespace fastgpu::comm
