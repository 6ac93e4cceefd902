#include "launcher/process_names.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {

NodeName node_of(std::span<const NodeRanks> placement, int rank) {
  const auto found = std::ranges::find_if(placement, [rank](const NodeRanks& node) {
    return rank >= node.first && rank < node.first + node.count;
  });
  return found == placement.end() ? NodeName{"an unknown node"} : found->node;
}

std::string rank_list(const std::set<int>& ranks) {
  std::string text;
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    const int first = *rank;
    int last = first;
    for (++rank; rank != ranks.end() && *rank == last + 1; ++rank)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first) +
            (last > first ? "-" + std::to_string(last) : "");
  }
  return text;
}

bool is_of_torchrun(std::span<const NodeRanks> placement) {
  return std::ranges::any_of(placement, [](const NodeRanks& node) { return node.workers > 0; });
}

std::string process_on_node(std::span<const NodeRanks> placement, int rank) {
  const std::string process =
      is_of_torchrun(placement) ? "torchrun" : "rank " + std::to_string(rank);
  return process + " on " + node_of(placement, rank).value;
}

std::string processes_text(std::span<const NodeRanks> placement, const std::set<int>& ranks) {
  if (!is_of_torchrun(placement))
    return (ranks.size() == 1 ? "rank " : "ranks ") + rank_list(ranks);
  std::string nodes;
  for (const int rank : ranks)
    append_item(nodes, node_of(placement, rank).value);
  return "torchrun on " + nodes;
}

int program_ranks(std::span<const NodeRanks> placement) {
  if (!is_of_torchrun(placement)) return total_ranks(placement);
  int workers = 0;
  for (const NodeRanks& node : placement)
    workers += node.workers;
  return workers;
}

std::string size_text(std::span<const NodeRanks> placement) {
  const bool has_workers = is_of_torchrun(placement);
  return counted(program_ranks(placement), has_workers ? "worker" : "rank");
}

std::string ranks_of_node(std::span<const NodeRanks> placement, std::size_t index) {
  int first = placement[index].first;
  int count = placement[index].count;
  if (is_of_torchrun(placement)) {
    first = 0;
    for (std::size_t i = 0; i < index; ++i)
      first += placement[i].workers;
    count = placement[index].workers;
  }
  const std::string text = std::to_string(first);
  return count == 1 ? text : text + "-" + std::to_string(first + count - 1);
}

}  // namespace fastgpu::launcher
