#include "comm/algorithms/tree.hpp"

#include <algorithm>

namespace fastgpu::comm {

TreePlace place_in_tree(Rank self, Rank root, int ranks) {
  // Counted from the root, a rank's parent is itself without its lowest bit, and its children add
  // one bit below that.
  const int place = (self.value - root.value + ranks) % ranks;
  const auto rank_at = [&](int other) { return Rank{(other + root.value) % ranks}; };
  TreePlace result{.parent = rank_at(place & (place - 1))};
  int lowest = 1;
  while (lowest < ranks && (place & lowest) == 0)
    lowest <<= 1;
  for (int bit = lowest >> 1; bit > 0; bit >>= 1)
    if (place + bit < ranks) result.children.push_back(rank_at(place + bit));
  return result;
}

void tree_broadcast(Transport& transport, std::span<std::byte> data, Rank root, std::size_t piece) {
  const TreePlace place = place_in_tree(transport.rank(), root, transport.size());
  for (std::size_t at = 0; at < data.size(); at += piece) {
    const auto part = data.subspan(at, std::min(piece, data.size() - at));
    if (transport.rank() != root) transport.exchange(place.parent, {}, place.parent, part);
    for (const Rank child : place.children)
      transport.exchange(child, part, child, {});
  }
}

}  // namespace fastgpu::comm
