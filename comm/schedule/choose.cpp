#include "comm/schedule/choose.hpp"

#include <algorithm>
#include <initializer_list>

#include "comm/schedule/cost.hpp"
#include "comm/schedule/direct.hpp"
#include "comm/schedule/ring.hpp"
#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {
namespace {

constexpr double kSmallestPiece = 8 * 1024;  // Below this the processor's time for messages counts.

std::vector<Algorithm> flat_algorithms(Collective collective) {
  using enum Algorithm;
  switch (collective) {
    case Collective::all_reduce:
      return {recursive_doubling, direct, halving_doubling, ring, tree};
    case Collective::reduce_scatter:
    case Collective::all_gather:
      return {direct, ring};
    case Collective::broadcast:
      return {tree, ring};
  }
  return {};
}

/// Returns the possible cuts, uncut first.
std::vector<Cut> cuts(double bytes, int most_lanes) {
  std::vector<Cut> result{{}};
  for (int pieces = 2; pieces <= 64 && bytes / pieces >= kSmallestPiece; pieces *= 2)
    for (int lanes = 1; lanes <= std::min(pieces, most_lanes); lanes *= 2)
      result.push_back({.pieces = pieces, .lanes = lanes});
  return result;
}

std::vector<SchedulePlan> flat_plans(const Choice& choice, const Topology& topology) {
  std::vector<SchedulePlan> plans;
  for (const Algorithm algorithm : flat_algorithms(choice.collective)) {
    const bool slices = algorithm == Algorithm::ring || algorithm == Algorithm::direct;
    const bool is_cut = algorithm != Algorithm::recursive_doubling;
    const double message = slices && choice.collective != Collective::broadcast
                               ? choice.bytes / topology.ranks()
                               : choice.bytes;
    for (const Cut& cut : cuts(is_cut ? message : 0, choice.most_lanes))
      plans.push_back({.algorithm = algorithm, .cut = cut});
  }
  return plans;
}

std::vector<SchedulePlan> hierarchical_plans(const Choice& choice, const Topology& topology) {
  std::vector<SchedulePlan> plans;
  const int largest = topology.largest_node();
  if (topology.nodes.size() < 2 || largest < 2) return plans;
  for (const Algorithm across : flat_algorithms(Collective::all_reduce))
    for (int leaders = 1; leaders <= largest; leaders = std::min(leaders * 2, largest)) {
      for (const Cut& cut : cuts(choice.bytes / leaders, choice.most_lanes))
        plans.push_back({Algorithm::hierarchical, cut, leaders, across});
      if (leaders == largest) break;
    }
  return plans;
}

Program broadcast(const SchedulePlan& plan, RankPlace place, std::uint64_t count, Rank root) {
  return plan.algorithm == Algorithm::tree ? broadcast_by_tree(place, root.value, count, plan.cut)
                                           : broadcast_by_chain(place, root.value, count, plan.cut);
}

}  // namespace

std::vector<Candidate> candidates(const Choice& choice, const Topology& topology,
                                  const NetworkModel& network) {
  std::vector<SchedulePlan> plans = flat_plans(choice, topology);
  if (choice.collective == Collective::all_reduce) {
    const auto more = hierarchical_plans(choice, topology);
    plans.insert(plans.end(), more.begin(), more.end());
  }
  std::vector<Candidate> result;
  for (const SchedulePlan& plan : plans)
    result.push_back({plan, predicted(choice, plan, topology, network)});
  std::ranges::stable_sort(result, {}, &Candidate::predicted);
  return result;
}

Program program_of(Collective collective, const SchedulePlan& plan, Rank self,
                   const Topology& topology, std::uint64_t count, Rank root) {
  const RankPlace place{self.value, topology.ranks()};
  const bool is_direct = plan.algorithm == Algorithm::direct;
  switch (collective) {
    case Collective::all_reduce:
      return all_reduce(plan, self, topology, count);
    case Collective::reduce_scatter:
      return is_direct ? reduce_scatter_directly(place, count, plan.cut)
                       : reduce_scatter_by_ring(place, count, plan.cut);
    case Collective::all_gather:
      return is_direct ? all_gather_directly(place, count, plan.cut)
                       : all_gather_by_ring(place, count, plan.cut);
    case Collective::broadcast:
      return broadcast(plan, place, count, root);
  }
  return {};
}

}  // namespace fastgpu::comm
