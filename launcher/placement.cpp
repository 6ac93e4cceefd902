#include "launcher/placement.hpp"

#include <algorithm>
#include <numeric>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "state/words.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns what each rank needs on its node: "slot", or the unit of --per.
std::string unit_of(const JobSpec& spec) {
  return spec.per == RankUnit::none ? "slot" : std::string(state::to_string(spec.per));
}

/// Returns the number of ranks that each node takes before it is crowded.
std::vector<int> room_of(std::span<const NodeSlots> nodes, const JobSpec& spec) {
  std::vector<int> room;
  for (const NodeSlots& node : nodes) {
    const bool fits = !spec.per_node || *spec.per_node <= node.slots;
    if (!fits && !spec.ranks && spec.crowding == Crowding::refused)
      throw Error(ErrorKind::usage, counted(*spec.per_node, "rank") +
                                        " per node do not fit: " + node.name.value + " has " +
                                        counted(node.slots, unit_of(spec)) +
                                        " (use --oversubscribe to run them anyway)");
    const int allowed = spec.crowding == Crowding::allowed && spec.per_node
                            ? *spec.per_node
                            : std::min(node.slots, spec.per_node.value_or(node.slots));
    room.push_back(allowed);
  }
  return room;
}

[[noreturn]] void refuse_too_many(long long wanted, long long room, const JobSpec& spec,
                                  std::size_t nodes) {
  const std::string there = "there are " + unit_of(spec) + "s for ";
  const std::string why =
      spec.per_node ? "at " + std::to_string(*spec.per_node) + " per node " + there : there;
  const bool crowding_helps = !spec.per_node;
  throw Error(ErrorKind::usage,
              counted(wanted, "rank") + " do not fit on " +
                  counted(static_cast<long long>(nodes), "node") + ": " + why +
                  std::to_string(room) +
                  (crowding_helps ? " (use --oversubscribe to run them anyway)" : ""));
}

/// Takes `wanted` ranks from `room`, in order.
std::vector<int> fill(const std::vector<int>& room, long long wanted) {
  std::vector<int> counts;
  for (const int free : room) {
    const auto taken = static_cast<int>(std::min<long long>(free, wanted));
    counts.push_back(taken);
    wanted -= taken;
  }
  for (std::size_t i = 0; wanted > 0; i = (i + 1) % counts.size(), --wanted)
    ++counts[i];
  return counts;
}

}  // namespace

std::vector<NodeRanks> place(std::span<const NodeSlots> nodes, const JobSpec& spec) {
  if (nodes.empty()) throw Error(ErrorKind::usage, "there are no nodes to run on");
  check_count("ranks (-np)", spec.ranks);
  check_count("ranks per node (--npernode)", spec.per_node);
  const auto room = room_of(nodes, spec);
  const long long all = std::accumulate(room.begin(), room.end(), 0LL);
  const long long wanted = spec.ranks ? *spec.ranks : all;
  const bool may_crowd = spec.crowding == Crowding::allowed && !spec.per_node;
  if (wanted > all && !may_crowd) refuse_too_many(wanted, all, spec, nodes.size());
  if (wanted < 1) throw Error(ErrorKind::usage, "the nodes have no slots");
  if (wanted > kMostRanks) check_count("ranks", kMostRanks + 1);
  const auto counts = fill(room, wanted);
  std::vector<NodeRanks> placed;
  int first = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0)
      placed.push_back({.node = nodes[i].name, .first = first, .count = counts[i]});
    first += counts[i];
  }
  return placed;
}

int total_ranks(std::span<const NodeRanks> placement) {
  int total = 0;
  for (const NodeRanks& node : placement)
    total += node.count;
  return total;
}

void require_rank(const std::string& id, std::span<const NodeRanks> placement, int rank) {
  const int count = total_ranks(placement);
  if (rank < 0 || rank >= count)
    throw Error(ErrorKind::usage, "job " + id + " has no rank " + std::to_string(rank) +
                                      ": they are 0 to " + std::to_string(count - 1));
}

}  // namespace fastgpu::launcher
