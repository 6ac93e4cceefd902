#include "comm/schedule/choose.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "comm/schedule/check.hpp"
#include "comm/schedule/cost.hpp"
#include "comm/simulator/simulator.hpp"

using namespace fastgpu::comm;
using namespace std::chrono_literals;

namespace {

NetworkModel fast_nodes_slow_wire() {
  return {.inside = {.latency = 1us, .flow = gigabytes(8), .shared = gigabytes(32)},
          .across = {.latency = 20us, .flow = gigabits(10), .shared = gigabits(10)},
          .per_message = 1us,
          .reduce = gigabytes(10),
          .copy = gigabytes(10)};
}

SchedulePlan best(double bytes, const Topology& topology, const NetworkModel& network,
                  int most_lanes = 1) {
  return candidates({Collective::all_reduce, bytes, most_lanes}, topology, network).front().plan;
}

constexpr double kMebibyte = 1 << 20;

}  // namespace

TEST_CASE("a few bytes among many ranks go by recursive doubling") {
  for (const int ranks : {16, 64, 256})
    CHECK(best(8, filled_nodes(ranks, 1), fast_nodes_slow_wire()).algorithm ==
          Algorithm::recursive_doubling);
}

TEST_CASE("much data among ranks of one node goes by direct exchange or ring") {
  for (const int ranks : {2, 4, 8}) {
    const auto algorithm =
        best(100 * kMebibyte, filled_nodes(ranks, ranks), fast_nodes_slow_wire()).algorithm;
    CHECK((algorithm == Algorithm::direct || algorithm == Algorithm::ring));
  }
}

TEST_CASE("much data among many ranks of a node each moves no more bytes than it must") {
  for (const int ranks : {8, 64}) {
    const auto algorithm =
        best(100 * kMebibyte, filled_nodes(ranks, 1), fast_nodes_slow_wire()).algorithm;
    CHECK(algorithm != Algorithm::recursive_doubling);
    CHECK(algorithm != Algorithm::tree);
  }
}

TEST_CASE("much data among nodes of many ranks goes by hierarchy") {
  for (const int nodes : {2, 8, 64})
    CHECK(best(100 * kMebibyte, filled_nodes(8 * nodes, 8), fast_nodes_slow_wire()).algorithm ==
          Algorithm::hierarchical);
}

TEST_CASE("a link of capped flows is given lanes, and one that is not needs none") {
  NetworkModel capped = fast_nodes_slow_wire();
  capped.across.flow = gigabits(2.5);
  const Topology pair = filled_nodes(2, 1);
  CHECK(best(100 * kMebibyte, pair, capped, 8).cut.lanes == 4);
  CHECK(best(100 * kMebibyte, pair, fast_nodes_slow_wire(), 8).cut.lanes == 1);
}

TEST_CASE("a long broadcast is cut in pieces, and a short one takes a tree") {
  const auto chosen = [](double bytes, int ranks) {
    return candidates({Collective::broadcast, bytes, 1}, filled_nodes(ranks, 1),
                      fast_nodes_slow_wire())
        .front()
        .plan;
  };
  CHECK(chosen(8, 64).algorithm == Algorithm::tree);
  CHECK(chosen(100 * kMebibyte, 4).algorithm == Algorithm::ring);
  CHECK(chosen(100 * kMebibyte, 4).cut.pieces > 8);
}

TEST_CASE("candidates are sorted, and there is one for a rank alone and for no bytes") {
  for (const int ranks : {1, 6}) {
    const auto found =
        candidates({Collective::all_reduce, 0, 4}, filled_nodes(ranks, 3), fast_nodes_slow_wire());
    CHECK_FALSE(found.empty());
    CHECK(std::ranges::is_sorted(found, {}, &Candidate::predicted));
  }
}

TEST_CASE("every candidate of every collective has programs without a fault") {
  const Topology topology = filled_nodes(5, 2);
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter,
                                      Collective::all_gather, Collective::broadcast})
    for (const Candidate& candidate :
         candidates({collective, 4e5, 2}, topology, fast_nodes_slow_wire())) {
      std::vector<Program> programs;
      for (int self = 0; self < 5; ++self)
        programs.push_back(
            program_of(collective, candidate.plan, Rank{self}, topology, 100000, Rank{3}));
      REQUIRE(find_fault(programs, {.data = 100000, .input = 0}).value_or("") == "");
    }
}

TEST_CASE("what is chosen is nearly the quickest of all that are simulated") {
  struct Case {
    int ranks;
    int per_node;
    std::uint64_t count;
  };
  for (const Case& now : {Case{4, 4, 16}, Case{4, 4, 1 << 18}, Case{8, 1, 16}, Case{8, 1, 1 << 14},
                          Case{8, 1, 1 << 20}, Case{7, 1, 1 << 18}, Case{16, 4, 16},
                          Case{16, 4, 1 << 16}, Case{16, 4, 1 << 20}}) {
    const Topology topology = filled_nodes(now.ranks, now.per_node);
    const Simulated simulated{
        .topology = topology, .network = fast_nodes_slow_wire(), .element_bytes = 4, .period = 0};
    const auto simulated_time = [&](const SchedulePlan& plan) {
      return simulate(simulated,
                      [&](Rank self) { return all_reduce(plan, self, topology, now.count); })
          .duration;
    };
    const auto all = candidates({Collective::all_reduce, 4.0 * double(now.count), 1}, topology,
                                simulated.network);
    Seconds quickest{1e9};
    SchedulePlan quickest_plan;
    for (const Candidate& candidate : all) {
      const Seconds time = simulated_time(candidate.plan);
      if (time < quickest) quickest_plan = candidate.plan;
      quickest = std::min(quickest, time);
    }
    CAPTURE(now.ranks);
    CAPTURE(now.per_node);
    CAPTURE(now.count);
    CAPTURE(name_of(all.front().plan.algorithm));
    CAPTURE(all.front().plan.cut.pieces);
    CAPTURE(all.front().predicted.count());
    CAPTURE(name_of(quickest_plan.algorithm));
    CAPTURE(quickest_plan.cut.pieces);
    CAPTURE(quickest.count());
    CHECK(simulated_time(all.front().plan) <= 1.25 * quickest);
  }
}
