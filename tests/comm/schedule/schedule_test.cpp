#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/direct.hpp"
#include "comm/schedule/doubling.hpp"
#include "comm/schedule/ring.hpp"
#include "comm/schedule/tree.hpp"
#include "symbolic.hpp"

using namespace fastgpu::comm;

namespace {

const std::vector<std::uint64_t> kLengths{0, 1, 2, 7, 15, 16, 17, 31, 33, 63, 65, 97};
const std::vector<Cut> kCuts{{}, {.pieces = 3, .lanes = 2}};

std::vector<int> numbers_of_ranks() {
  std::vector<int> numbers;
  for (int ranks = 1; ranks <= 17; ++ranks)
    numbers.push_back(ranks);
  numbers.push_back(33);
  numbers.push_back(64);
  return numbers;
}

using Make = std::function<Program(RankPlace, std::uint64_t count, Cut)>;

std::vector<Program> programs_of(int ranks, const std::function<Program(int self)>& make) {
  std::vector<Program> programs;
  for (int self = 0; self < ranks; ++self)
    programs.push_back(make(self));
  return programs;
}

/// What went wrong, or nothing: so that a failed check says so, and the others cost no time.
std::string fault_of(const std::vector<Program>& programs, const BufferSizes& sizes) {
  return find_fault(programs, sizes).value_or("");
}

/// Calls `check` with the programs of every number of ranks, length and cut, and their outcome.
void for_all_sizes(
    const Make& make,
    const std::function<bool(int, std::uint64_t, const SymbolicResult&, Expressions&)>& check) {
  std::mt19937 random(1);
  for (const int ranks : numbers_of_ranks())
    for (const std::uint64_t count : kLengths)
      for (const Cut& cut : kCuts) {
        CAPTURE(ranks);
        CAPTURE(count);
        CAPTURE(cut.pieces);
        const auto programs = programs_of(ranks, [&](int self) {
          return make({self, ranks}, count, cut);
        });
        REQUIRE(fault_of(programs, {.data = count, .input = 0}) == "");
        Expressions expressions;
        const SymbolicResult outcome =
            run(programs, {.data = count, .input = 0}, expressions, random);
        REQUIRE(check(ranks, count, outcome, expressions));
      }
}

/// Each element is the sum of all, and the same expression on all ranks.
bool is_all_reduced(int ranks, std::uint64_t count, const SymbolicResult& outcome,
                    const Expressions& expressions) {
  for (std::uint64_t element = 0; element < count; ++element)
    if (!expressions.is_sum_of_all(outcome.data[0][element], ranks, element)) return false;
  return std::ranges::all_of(outcome.data,
                             [&](const auto& data) { return data == outcome.data[0]; });
}

void check_all_reduce(const Make& make) {
  for_all_sizes(make, is_all_reduced);
}

/// Calls `visit` with each element, its owner by slices, and what `rank` has there.
bool all_elements(int ranks, std::uint64_t count,
                  const std::function<bool(int, std::uint64_t)>& visit) {
  for (int owner = 0; owner < ranks; ++owner) {
    const Part slice = slice_of(whole_of(count), owner, ranks);
    for (std::uint64_t element = slice.offset; element < slice.offset + slice.count; ++element)
      if (!visit(owner, element)) return false;
  }
  return true;
}

void check_reduce_scatter(const Make& make) {
  for_all_sizes(make, [](int ranks, std::uint64_t count, const SymbolicResult& outcome,
                         Expressions& expressions) {
    return all_elements(ranks, count, [&](int owner, std::uint64_t element) {
      return expressions.is_sum_of_all(outcome.data[std::size_t(owner)][element], ranks, element);
    });
  });
}

void check_all_gather(const Make& make) {
  for_all_sizes(make, [](int ranks, std::uint64_t count, const SymbolicResult& outcome,
                         Expressions& expressions) {
    return all_elements(ranks, count, [&](int owner, std::uint64_t element) {
      const Expression expected = expressions.contribution(owner, element);
      return std::ranges::all_of(outcome.data,
                                 [&](const auto& data) { return data[element] == expected; });
    });
  });
}

/// Roots are drawn by length, so that many of them come up.
int root_of(RankPlace place, std::uint64_t count) {
  return static_cast<int>(count % unsigned(place.ranks));
}

Topology random_topology(int ranks, std::mt19937& random) {
  Topology topology;
  std::vector<Rank> all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(Rank{rank});
  std::ranges::shuffle(all, random);
  for (const Rank rank : all) {
    if (topology.nodes.empty() || random() % 3 == 0) topology.nodes.emplace_back();
    topology.nodes.back().push_back(rank);
  }
  return topology;
}

}  // namespace

TEST_CASE("slices cover the whole, in order, and differ by one element at most") {
  for (const std::uint64_t count : kLengths)
    for (const int slices : {1, 2, 3, 16, 64}) {
      std::uint64_t at = 0;
      for (int index = 0; index < slices; ++index) {
        const Part slice = slice_of(whole_of(count), index, slices);
        CHECK(slice.offset == at);
        CHECK(slice.count - count / unsigned(slices) <= 1);
        at += slice.count;
      }
      CHECK(at == count);
    }
}

TEST_CASE("a ring reduces every element once, in the same order for all") {
  check_all_reduce(all_reduce_by_ring);
}

TEST_CASE("a direct exchange reduces every element once, in the same order for all") {
  check_all_reduce(all_reduce_directly);
}

TEST_CASE("recursive doubling reduces every element once, in the same order for all") {
  check_all_reduce([](RankPlace place, std::uint64_t count, Cut) {
    return all_reduce_by_recursive_doubling(place, count);
  });
}

TEST_CASE("halving and doubling reduces every element once, in the same order for all") {
  check_all_reduce(all_reduce_by_halving_and_doubling);
}

TEST_CASE("a tree reduces every element once, in the same order for all") {
  check_all_reduce(all_reduce_by_tree);
}

TEST_CASE("reduce-scatter by ring leaves each rank the sum of its slice") {
  check_reduce_scatter(reduce_scatter_by_ring);
}

TEST_CASE("reduce-scatter by direct exchange leaves each rank the sum of its slice") {
  check_reduce_scatter(reduce_scatter_directly);
}

TEST_CASE("all-gather by ring gives everybody everybody's slice") {
  check_all_gather(all_gather_by_ring);
}

TEST_CASE("all-gather by direct exchange gives everybody everybody's slice") {
  check_all_gather(all_gather_directly);
}

TEST_CASE("a broadcast by tree or chain gives everybody the root's data") {
  for (const auto& broadcast : {broadcast_by_tree, broadcast_by_chain})
    for_all_sizes([&](RankPlace place, std::uint64_t count,
                      Cut cut) { return broadcast(place, root_of(place, count), count, cut); },
                  [](int ranks, std::uint64_t count, const SymbolicResult& outcome,
                     Expressions& expressions) {
                    return all_elements(ranks, count, [&](int, std::uint64_t element) {
                      const Expression expected =
                          expressions.contribution(root_of({0, ranks}, count), element);
                      return std::ranges::all_of(outcome.data, [&](const auto& data) {
                        return data[element] == expected;
                      });
                    });
                  });
}

TEST_CASE("a reduction by tree leaves the root the sum") {
  for_all_sizes(
      [](RankPlace place, std::uint64_t count, Cut cut) {
        return reduce_by_tree(place, root_of(place, count), count, cut);
      },
      [](int ranks, std::uint64_t count, const SymbolicResult& outcome, Expressions& expressions) {
        const auto root = static_cast<std::size_t>(root_of({0, ranks}, count));
        return all_elements(ranks, count, [&](int, std::uint64_t element) {
          return expressions.is_sum_of_all(outcome.data[root][element], ranks, element);
        });
      });
}

TEST_CASE("all-to-all gives each rank its block of everybody's input") {
  std::mt19937 random(2);
  for (const int ranks : numbers_of_ranks())
    for (const std::uint64_t block : {0U, 1U, 5U}) {
      const BufferSizes sizes{.data = block * unsigned(ranks), .input = block * unsigned(ranks)};
      const auto programs = programs_of(ranks, [&](int self) {
        return all_to_all({self, ranks}, block, {.pieces = 2, .lanes = 2});
      });
      REQUIRE(fault_of(programs, sizes) == "");
      Expressions expressions;
      const SymbolicResult outcome = run(programs, sizes, expressions, random);
      for (int self = 0; self < ranks; ++self)
        for (std::uint64_t i = 0; i < sizes.data; ++i) {
          const int from = static_cast<int>(i / block);
          const std::uint64_t element = block * unsigned(self) + i % block;
          REQUIRE(outcome.data[std::size_t(self)][i] == expressions.contribution(from, element));
        }
    }
}

TEST_CASE("an all-gather in which blocks double gives each rank everybody's block") {
  std::mt19937 random(5);
  for (int ranks = 1; ranks <= 33; ++ranks)
    for (const std::uint64_t block : {0U, 1U, 5U}) {
      CAPTURE(ranks);
      const BufferSizes sizes{.data = block * unsigned(ranks), .input = block};
      const auto programs = programs_of(ranks, [&](int self) {
        return all_gather_blocks_by_doubling({self, ranks}, block);
      });
      REQUIRE(fault_of(programs, sizes) == "");
      Expressions expressions;
      const SymbolicResult outcome = run(programs, sizes, expressions, random);
      for (int self = 0; self < ranks; ++self)
        for (std::uint64_t i = 0; i < sizes.data; ++i)
          REQUIRE(outcome.data[std::size_t(self)][i] ==
                  expressions.contribution(static_cast<int>(i / block), i % block));
    }
  const Program program = all_gather_blocks_by_doubling({0, 1024}, 1);
  CHECK(program.steps.size() == 1 + 10 + 10);  // A copy, and one message for each bit.
}

TEST_CASE("a reduce-scatter in which blocks halve leaves each rank the sum of its block") {
  std::mt19937 random(6);
  for (const int ranks : {1, 2, 4, 8, 16, 32})
    for (const std::uint64_t block : {0U, 1U, 5U}) {
      CAPTURE(ranks);
      const BufferSizes sizes{.data = block, .input = block * unsigned(ranks)};
      const auto programs = programs_of(ranks, [&](int self) {
        return reduce_scatter_blocks_by_halving({self, ranks}, block);
      });
      REQUIRE(fault_of(programs, sizes) == "");
      Expressions expressions;
      const SymbolicResult outcome = run(programs, sizes, expressions, random);
      for (int self = 0; self < ranks; ++self)
        for (std::uint64_t i = 0; i < block; ++i)
          REQUIRE(expressions.is_sum_of_all(outcome.data[std::size_t(self)][i], ranks,
                                            block * unsigned(self) + i));
    }
}

TEST_CASE("no rank leaves a barrier that another has not come to") {
  std::mt19937 random(3);
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const auto programs = programs_of(ranks, [&](int self) { return barrier({self, ranks}); });
    REQUIRE(fault_of(programs, {}) == "");
    Expressions expressions;
    for (int late = 0; late < ranks; ++late) {
      const SymbolicResult outcome = run(programs, {}, expressions, random, late);
      CHECK(std::ranges::none_of(outcome.finished, [](bool finished) { return finished; }));
    }
    const SymbolicResult outcome = run(programs, {}, expressions, random);
    CHECK(std::ranges::all_of(outcome.finished, [](bool finished) { return finished; }));
  }
}

TEST_CASE("a hierarchy reduces every element once whatever the nodes and leaders") {
  std::mt19937 random(4);
  for (const int ranks : numbers_of_ranks())
    for (const std::uint64_t count : {0U, 1U, 17U, 97U})
      for (const Algorithm across :
           {Algorithm::ring, Algorithm::direct, Algorithm::recursive_doubling,
            Algorithm::halving_doubling, Algorithm::tree})
        for (const int leaders : {0, 1, 2}) {
          CAPTURE(ranks);
          CAPTURE(count);
          CAPTURE(leaders);
          CAPTURE(name_of(across));
          const Topology topology = random_topology(ranks, random);
          const SchedulePlan plan{.algorithm = Algorithm::hierarchical,
                                  .cut = {.pieces = 1 + static_cast<int>(random() % 4), .lanes = 2},
                                  .leaders = leaders,
                                  .across = across};
          const auto programs = programs_of(
              ranks, [&](int self) { return all_reduce(plan, Rank{self}, topology, count); });
          REQUIRE(fault_of(programs, {.data = count, .input = 0}) == "");
          Expressions expressions;
          const SymbolicResult outcome =
              run(programs, {.data = count, .input = 0}, expressions, random);
          REQUIRE(is_all_reduced(ranks, count, outcome, expressions));
        }
}

TEST_CASE("data of more elements than 32 bits count is cut without a fault") {
  constexpr std::uint64_t kCount = (std::uint64_t{1} << 40) + 1;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::direct, Algorithm::recursive_doubling,
        Algorithm::halving_doubling, Algorithm::tree}) {
    const auto programs = programs_of(7, [&](int self) {
      return flat_all_reduce(algorithm, {self, 7}, kCount, {.pieces = 5, .lanes = 2});
    });
    CHECK(fault_of(programs, {.data = kCount, .input = 0}) == "");
  }
}

TEST_CASE(
    "a ring's bytes are twice the data, whatever the ranks, and its messages twice the ranks") {
  const Program program = all_reduce_by_ring({2, 8}, 800, {});
  std::uint64_t sent = 0;
  for (const Step& step : program.steps)
    sent += step.from.count;
  CHECK(sent == 2 * 7 * 100);
  CHECK(program.steps.size() == 2 * 2 * 7);
}

TEST_CASE("a group's program speaks of its members by their ranks, and of its part by its offset") {
  const std::vector<Rank> members{Rank{5}, Rank{9}};
  const Program program =
      on_group(at_offset(from_lane(all_reduce_by_recursive_doubling({0, 2}, 4), 3), 100), members);
  REQUIRE(program.steps.size() == 3);
  CHECK(program.steps[0].peer == Rank{9});
  CHECK(program.steps[0].lane == 3);
  CHECK(program.steps[0].from.offset == 100);
  CHECK(program.steps[1].to.offset == 0);  // Scratch stays where it is.
}
