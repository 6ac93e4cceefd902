// Collectives along a binomial tree: log2(size) rounds from one rank to all.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/transport.hpp"

namespace fastgpu::comm {

/// One rank's place in the binomial tree under `root`.
struct TreePlace {
  Rank parent;                   ///< Meaningless for the root itself.
  std::vector<Rank> children{};  ///< The one with the largest subtree first.
};

TreePlace place_in_tree(Rank self, Rank root, int ranks);

/// Copies `data` of `root` to every rank, in pieces of at most `piece` bytes that travel down the
/// tree behind each other. Every rank gives the same length and the same piece, which is not 0.
void tree_broadcast(Transport& transport, std::span<std::byte> data, Rank root, std::size_t piece);

}  // namespace fastgpu::comm
