#include "comm/schedule/tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace fastgpu::comm {
namespace {

constexpr int kMostRanksOfTree = 40;

struct Neighbours {
  std::vector<int> parents;
  std::vector<int> children;  ///< In the order in which they are sent to.
};

Neighbours neighbours_of(int rank, int ranks, int root) {
  Neighbours neighbours;
  const Program program = broadcast_by_tree({rank, ranks}, root, 1, {});
  for (const Step& step : program.steps)
    (step.kind == StepKind::send ? neighbours.children : neighbours.parents)
        .push_back(step.peer.value);
  return neighbours;
}

/// Returns the number of messages that are sent one after the other until all ranks below `rank`
/// have the data.
int steps_below(int rank, int ranks, int root) {
  int steps = 0;
  int sent = 0;
  for (const int child : neighbours_of(rank, ranks, root).children)
    steps = std::max(steps, ++sent + steps_below(child, ranks, root));
  return steps;
}

int log2_rounded_up(int ranks) {
  int log = 0;
  while ((1 << log) < ranks)
    ++log;
  return log;
}

TEST_SUITE_BEGIN("comm/schedule/tree");

TEST_CASE("each rank but the root has one parent, which has it as a child") {
  for (int ranks = 1; ranks <= kMostRanksOfTree; ++ranks)
    for (const int root : {0, ranks / 3, ranks - 1}) {
      CAPTURE(ranks);
      CAPTURE(root);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<int> parents = neighbours_of(rank, ranks, root).parents;
        REQUIRE(parents.size() == (rank == root ? 0 : 1));
        if (rank == root) continue;
        const std::vector<int> siblings = neighbours_of(parents.front(), ranks, root).children;
        CHECK(std::ranges::count(siblings, rank) == 1);
      }
    }
}

TEST_CASE("the data is everywhere after as many steps as double one rank to all") {
  for (int ranks = 1; ranks <= kMostRanksOfTree; ++ranks) {
    CAPTURE(ranks);
    CHECK(steps_below(ranks / 2, ranks, ranks / 2) == log2_rounded_up(ranks));
  }
}

TEST_CASE(
    "of four ranks on two cores, rank 0 as the root shares none with the rank that passes on") {
  for (const int rank : {1, 2, 3}) {
    if (neighbours_of(rank, 4, 0).children.empty()) continue;
    CAPTURE(rank);
    CHECK(rank % 2 != 0);
    CHECK(rank / 2 != 0);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
