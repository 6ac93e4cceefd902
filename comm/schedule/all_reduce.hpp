// All-reduce by any of the algorithms, and across machines by two of them together.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "comm/schedule/compose.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

enum class Algorithm : std::uint8_t {
  ring,
  direct,
  recursive_doubling,
  halving_doubling,  ///< Rabenseifner's.
  tree,
  hierarchical
};

inline constexpr std::array kAlgorithms{Algorithm::ring,
                                        Algorithm::direct,
                                        Algorithm::recursive_doubling,
                                        Algorithm::halving_doubling,
                                        Algorithm::tree,
                                        Algorithm::hierarchical};

std::string_view name_of(Algorithm algorithm) noexcept;
std::optional<Algorithm> algorithm_named(std::string_view name) noexcept;

struct SchedulePlan {
  Algorithm algorithm = Algorithm::ring;
  Cut cut{};
  int leaders = 0;  ///< Leaders on each node, for hierarchical; 0: every rank.
  /// The algorithm between nodes, for hierarchical; another one.
  Algorithm across = Algorithm::direct;

  friend auto operator<=>(const SchedulePlan&, const SchedulePlan&) = default;
};

/// Reduces `count` elements of data in place, over all ranks. The result is the same to the last
/// bit on every rank and in every run. Each element is reduced on one rank, or on all by the same
/// expression.
Program all_reduce(const SchedulePlan& plan, Rank self, const Topology& topology,
                   std::uint64_t count);

/// Returns the program of any algorithm but hierarchical. Recursive doubling is never cut.
Program flat_all_reduce(Algorithm algorithm, RankPlace place, std::uint64_t count, Cut cut);

/// Reduces in two levels. The data is cut in a slice for each leader. On every node slice i goes to
/// leader i, the leaders i of all nodes reduce it, and it goes back to all ranks of the node. A
/// node with fewer ranks than leaders gives several slices to a rank. (Two levels as in Graham and
/// others, Cheetah, 2011; several leaders as in Bayatpour and others, Scalable reduction
/// collectives with data partitioning-based multi-leader design, 2017.)
Program hierarchical_all_reduce(const SchedulePlan& plan, Rank self, const Topology& topology,
                                std::uint64_t count);

}  // namespace fastgpu::comm
