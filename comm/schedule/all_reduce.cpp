#include "comm/schedule/all_reduce.hpp"

#include <algorithm>
#include <cassert>

#include "comm/schedule/direct.hpp"
#include "comm/schedule/doubling.hpp"
#include "comm/schedule/ring.hpp"
#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {
namespace {

/// The three phases of one piece, as one rank sees them.
class Hierarchy {
 public:
  Hierarchy(const SchedulePlan& plan, Rank self, const Topology& topology, std::uint64_t count,
            Program& program)
      : plan_(plan),
        self_(self),
        topology_(topology),
        count_(count),
        own_node_(topology.node_of(self)),
        leaders_(plan.leaders > 0 ? plan.leaders : topology.largest_node()),
        program_(program),
        writer_(program) {}

  void reduce_inside(int piece) {
    for (int slice = 0; slice < leaders_; ++slice)
      for (const Rank rank : others_than(leader(own_node_, slice)))
        if (leads(slice)) {
          writer_.receive_reduce(rank.value, piece_at(slice, piece));
        } else if (rank == self_) {
          writer_.send(leader(own_node_, slice).value, piece_at(slice, piece));
        }
  }

  void reduce_across(int piece) {
    const RankPlace place{own_node_, static_cast<int>(topology_.nodes.size())};
    for (int slice = 0; slice < leaders_; ++slice)
      if (leads(slice)) {
        const auto [part, lane] = piece_at(slice, piece);
        const Program across = flat_all_reduce(plan_.across, place, part.count, {});
        append(program_,
               on_group(at_offset(from_lane(across, lane), part.offset), leaders_of(slice)));
      }
  }

  void spread_inside(int piece) {
    for (int slice = 0; slice < leaders_; ++slice)
      for (const Rank rank : others_than(leader(own_node_, slice)))
        if (leads(slice)) {
          writer_.send(rank.value, piece_at(slice, piece));
        } else if (rank == self_) {
          writer_.receive(leader(own_node_, slice).value, piece_at(slice, piece));
        }
  }

 private:
  Rank leader(int node, int slice) const {
    const auto& ranks = topology_.nodes[static_cast<std::size_t>(node)];
    return ranks[static_cast<std::size_t>(slice) % ranks.size()];
  }

  bool leads(int slice) const { return leader(own_node_, slice) == self_; }

  std::vector<Rank> leaders_of(int slice) const {
    std::vector<Rank> ranks;
    for (int node = 0; node < static_cast<int>(topology_.nodes.size()); ++node)
      ranks.push_back(leader(node, slice));
    return ranks;
  }

  std::vector<Rank> others_than(Rank rank) const {
    std::vector<Rank> ranks = topology_.nodes[static_cast<std::size_t>(own_node_)];
    std::erase(ranks, rank);
    return ranks;
  }

  Piece piece_at(int slice, int piece) const {
    return piece_of(slice_of(whole_of(count_), slice, leaders_), piece, plan_.cut);
  }

  const SchedulePlan& plan_;
  Rank self_;
  const Topology& topology_;
  std::uint64_t count_;
  int own_node_;
  int leaders_;
  Program& program_;
  Writer writer_;
};

}  // namespace

std::string_view name_of(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::direct:
      return "direct";
    case Algorithm::recursive_doubling:
      return "recursive_doubling";
    case Algorithm::halving_doubling:
      return "halving_doubling";
    case Algorithm::tree:
      return "tree";
    case Algorithm::hierarchical:
      return "hierarchical";
  }
  return "";
}

std::optional<Algorithm> algorithm_named(std::string_view name) noexcept {
  const auto found =
      std::ranges::find_if(kAlgorithms, [&](Algorithm known) { return name_of(known) == name; });
  if (found == kAlgorithms.end()) return std::nullopt;
  return *found;
}

Program flat_all_reduce(Algorithm algorithm, RankPlace place, std::uint64_t count, Cut cut) {
  switch (algorithm) {
    case Algorithm::ring:
      return all_reduce_by_ring(place, count, cut);
    case Algorithm::direct:
      return all_reduce_directly(place, count, cut);
    case Algorithm::recursive_doubling:
      return all_reduce_by_recursive_doubling(place, count);
    case Algorithm::halving_doubling:
      return all_reduce_by_halving_and_doubling(place, count, cut);
    case Algorithm::tree:
      return all_reduce_by_tree(place, count, cut);
    case Algorithm::hierarchical:
      break;
  }
  assert(algorithm != Algorithm::hierarchical);
  return {};
}

Program hierarchical_all_reduce(const SchedulePlan& plan, Rank self, const Topology& topology,
                                std::uint64_t count) {
  Program program;
  Hierarchy hierarchy(plan, self, topology, count, program);
  // Each piece is a phase ahead of the next, so that all three phases are busy at once and none
  // holds up another on their common channels.
  for (int turn = 0; turn < plan.cut.pieces + 2; ++turn) {
    if (turn < plan.cut.pieces) hierarchy.reduce_inside(turn);
    if (turn >= 1 && turn <= plan.cut.pieces) hierarchy.reduce_across(turn - 1);
    if (turn >= 2) hierarchy.spread_inside(turn - 2);
  }
  return program;
}

Program all_reduce(const SchedulePlan& plan, Rank self, const Topology& topology,
                   std::uint64_t count) {
  if (plan.algorithm == Algorithm::hierarchical)
    return hierarchical_all_reduce(plan, self, topology, count);
  return flat_all_reduce(plan.algorithm, {self.value, topology.ranks()}, count, plan.cut);
}

}  // namespace fastgpu::comm
