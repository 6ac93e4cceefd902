#include "launcher/held_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/protocol/topology.hpp"
#include "base/contains.hpp"
#include "launcher/gpu_order.hpp"

namespace fastgpu::launcher {
namespace {

/// The reasons against a place, the least first.
enum class Against : std::uint8_t {
  nothing,
  other_share,  ///< Another node that shares the kernel has it as its own.
  other_node,   ///< A job on such a node holds it.
  held,         ///< A job on this node holds it.
};

struct Candidate {
  RankPart place;
  Against against = Against::nothing;
};

void sort_once(std::vector<int>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
}

bool overlaps(const RankPart& place, const HeldParts& held) {
  if (place.gpu >= 0) return contains(held.gpus, place.gpu);
  return std::ranges::any_of(place.cpus, [&](int cpu) { return contains(held.cpus, cpu); });
}

/// The choice of places on one node.
class NodeChoice {
 public:
  /// Borrows all. `index` is that of the node in `nodes`.
  NodeChoice(std::span<const NodeTopology> nodes, std::size_t index, RankUnit unit,
             std::span<const HeldParts> held)
      : nodes_(nodes), node_(nodes[index]), held_(held) {
    const std::vector<RankPart> own = places_of_nodes(nodes, unit)[index];
    count_ = own.size();
    for (const RankPart& place : own)
      candidates_.push_back({place, against(place, Against::nothing)});
    for (const RankPart& place : rank_places(node_.topology, unit))
      if (!contains(own, place))
        candidates_.push_back({place, against(place, Against::other_share)});
  }

  /// Returns the number of places that so many ranks have for themselves.
  std::size_t needed(int ranks) const { return std::min(static_cast<std::size_t>(ranks), count_); }

  /// Returns the number of places that no job on this node holds.
  std::size_t available() const { return count_up_to(Against::other_node); }

  /// Returns the jobs on this node that hold some of its places.
  std::vector<std::string> holders() const {
    std::vector<std::string> jobs;
    for (const HeldParts& held : held_)
      if (held.node == node_.name && !contains(jobs, held.job) && holds_one(held))
        jobs.push_back(held.job);
    return jobs;
  }

  /// Returns the best `count` places, in the order of ranks.
  std::vector<RankPart> best(std::size_t count) const {
    std::vector<RankPart> chosen;
    for (int level = 0; level <= static_cast<int>(Against::held); ++level) {
      std::vector<RankPart> alike;
      for (const Candidate& candidate : candidates_)
        if (static_cast<int>(candidate.against) == level) alike.push_back(candidate.place);
      keep_best(alike, count - chosen.size());
      chosen.insert(chosen.end(), alike.begin(), alike.end());
    }
    if (!chosen.empty() && chosen.front().gpu >= 0) order(chosen);
    for (RankPart& place : chosen)
      leave_held_cpus(place);
    return chosen;
  }

 private:
  /// Returns the kernel of a node, which it may share with others; empty if it is unknown.
  std::string kernel_of(const NodeName& name) const {
    const auto found = std::ranges::find(nodes_, name, &NodeTopology::name);
    if (found != nodes_.end()) return found->topology.boot_id;
    // All other nodes of the cluster are on this machine, too.
    return node_.topology.boot_id == kThisMachine ? std::string(kThisMachine) : "";
  }

  bool is_beside(const HeldParts& held) const {
    return !node_.topology.boot_id.empty() && kernel_of(held.node) == node_.topology.boot_id;
  }

  bool holds_one(const HeldParts& held) const {
    return std::ranges::any_of(
        candidates_, [&](const Candidate& candidate) { return overlaps(candidate.place, held); });
  }

  Against against(const RankPart& place, Against least) const {
    Against worst = least;
    for (const HeldParts& held : held_) {
      if (!overlaps(place, held)) continue;
      if (held.node == node_.name) return Against::held;
      if (is_beside(held)) worst = Against::other_node;
    }
    return worst;
  }

  std::size_t count_up_to(Against most) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        candidates_, [&](const Candidate& candidate) { return candidate.against <= most; }));
  }

  static const RankPart& with_gpu(const std::vector<RankPart>& places, int gpu) {
    return *std::ranges::find(places, gpu, &RankPart::gpu);
  }

  static std::vector<int> gpus_of(const std::vector<RankPart>& places) {
    std::vector<int> gpus;
    for (const RankPart& place : places)
      gpus.push_back(place.gpu);
    std::ranges::sort(gpus);
    return gpus;
  }

  /// Keeps the best `count` of places that are equally free.
  void keep_best(std::vector<RankPart>& places, std::size_t count) const {
    if (places.size() <= count) return;
    if (places.front().gpu < 0) {
      places.resize(count);
      return;
    }
    const std::vector<int> chosen = choose_gpus(node_.topology, gpus_of(places), count);
    std::erase_if(places, [&](const RankPart& place) { return !contains(chosen, place.gpu); });
  }

  /// Puts places with GPUs in the order of their links.
  void order(std::vector<RankPart>& places) const {
    std::vector<RankPart> ordered;
    for (const int gpu : order_gpus(node_.topology, gpus_of(places), places.size()))
      ordered.push_back(with_gpu(places, gpu));
    places = std::move(ordered);
  }

  /// Leaves the cores beside a GPU to the jobs that hold them, unless the rank would have none.
  void leave_held_cpus(RankPart& place) const {
    std::vector<int> free = place.cpus;
    for (const HeldParts& held : held_)
      if (held.node == node_.name || is_beside(held))
        std::erase_if(free, [&](int cpu) { return contains(held.cpus, cpu); });
    if (place.gpu >= 0 && !free.empty()) place.cpus = std::move(free);
  }

  std::span<const NodeTopology> nodes_;
  const NodeTopology& node_;
  std::span<const HeldParts> held_;
  std::size_t count_ = 0;  ///< The number of its own places.
  std::vector<Candidate> candidates_;
};

/// Returns the number of processes of a node that need a place each.
int processes_of(const NodeRanks& ranks) {
  return ranks.count * std::max(1, ranks.workers);
}

/// Writes the places into the ranks of a node, again and again if there are more ranks. The workers
/// of a torchrun have a GPU each, and share the CPUs of all of them.
void write_places(NodeRanks& ranks, const std::vector<RankPart>& places) {
  std::vector<int> shared;
  for (std::size_t i = 0; std::cmp_less(i, processes_of(ranks)) && !places.empty(); ++i) {
    const RankPart& place = places[i % places.size()];
    if (place.gpu >= 0) ranks.gpus.push_back(place.gpu);
    if (ranks.workers > 0)
      shared.insert(shared.end(), place.cpus.begin(), place.cpus.end());
    else
      ranks.cpus.push_back(agent::cpu_list(place.cpus));
  }
  sort_once(shared);
  if (!shared.empty())
    ranks.cpus.assign(static_cast<std::size_t>(ranks.count), agent::cpu_list(shared));
}

}  // namespace

HeldParts parts_held_by(const std::string& job, const NodeRanks& ranks) {
  HeldParts parts{.job = job, .node = ranks.node, .gpus = ranks.gpus};
  for (const std::string& cpus : ranks.cpus)
    for (const int cpu : agent::parse_cpu_list(cpus))
      parts.cpus.push_back(cpu);
  sort_once(parts.cpus);
  sort_once(parts.gpus);
  return parts;
}

std::vector<std::string> bind_ranks(std::vector<NodeRanks>& placement,
                                    std::span<const NodeTopology> nodes, RankUnit unit,
                                    std::span<const HeldParts> held, Sharing sharing) {
  std::vector<std::string> waits_for;
  if (unit == RankUnit::none) return waits_for;
  std::vector<HeldParts> taken(held.begin(), held.end());
  for (NodeRanks& ranks : placement) {
    ranks.cpus.clear();
    ranks.gpus.clear();
    const NodeChoice choice(nodes, index_of(nodes, ranks.node), unit, taken);
    const std::size_t needed = choice.needed(processes_of(ranks));
    if (sharing == Sharing::exclusive && choice.available() < needed) {
      for (const std::string& job : choice.holders())
        if (!contains(waits_for, job)) waits_for.push_back(job);
      continue;
    }
    write_places(ranks, choice.best(needed));
    taken.push_back(parts_held_by("", ranks));  // The next nodes may share the kernel.
  }
  for (NodeRanks& ranks : placement) {
    if (waits_for.empty()) break;
    ranks.cpus.clear();
    ranks.gpus.clear();
  }
  return waits_for;
}

EndsNeeded part_ends_needed(const std::vector<NodeRanks>& placement,
                            std::span<const NodeTopology> nodes, RankUnit unit,
                            std::span<const HeldParts> held,
                            const std::vector<std::string>& holders) {
  return ends_needed(holders, [&](std::span<const std::string> ended) {
    std::vector<HeldParts> left(held.begin(), held.end());
    std::erase_if(left, [&](const HeldParts& parts) { return contains(ended, parts.job); });
    std::vector<NodeRanks> tried = placement;
    return bind_ranks(tried, nodes, unit, left).empty();
  });
}

}  // namespace fastgpu::launcher
