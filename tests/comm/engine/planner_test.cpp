#include "comm/engine/planner.hpp"

#include <doctest/doctest.h>

#include "comm/schedule/choose.hpp"
#include "comm/schedule/cost.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

NetworkModel cloud(Rate link, Seconds latency) {
  return {.inside = {.latency = 1us, .flow = gigabytes(8), .shared = gigabytes(64)},
          .across = {.latency = latency, .flow = link, .shared = link},
          .per_message = 1us,
          .reduce = gigabytes(10),
          .copy = gigabytes(10)};
}

Call all_reduce_of(std::uint64_t bytes) {
  return {.kind = CallKind::all_reduce,
          .bytes = bytes,
          .reduction = {ElementType::float32, ReduceOp::sum}};
}

/// How many times what the cost model's best plan takes, the planned one does.
double excess(std::uint64_t bytes, const Topology& topology, const NetworkModel& network) {
  const Choice choice{Collective::all_reduce, static_cast<double>(bytes), 1};
  const SchedulePlan planned = all_reduce_plan(all_reduce_of(bytes), topology);
  return predicted(choice, planned, topology, network) /
         candidates(choice, topology, network).front().predicted;
}

TEST_SUITE_BEGIN("comm/planner");

// The model has no queues that overflow, and likes what fills them: direct exchange.
TEST_CASE("what is planned by lengths alone comes near the best that the cost model knows") {
  for (const int nodes : {2, 3, 4, 6, 8, 13, 16, 32, 48, 64, 100, 128, 500, 512, 1024, 4096})
    for (const int per_node : {1, 8})
      for (const std::uint64_t bytes : {4 << 10, 32 << 10, 256 << 10, 4 << 20, 100 << 20}) {
        CAPTURE(nodes);
        CAPTURE(per_node);
        CAPTURE(bytes);
        const Topology topology = filled_nodes(nodes * per_node, per_node);
        CHECK(excess(bytes, topology, cloud(gigabits(10), 50us)) < 3.1);
        CHECK(excess(bytes, topology, cloud(gigabits(32), 25us)) < 3.1);
      }
}

TEST_CASE("short blocks of many ranks go in as many steps as their number has bits") {
  const auto steps = [](CallKind kind, std::uint64_t block, int ranks) {
    Call call = all_reduce_of(block);
    call.kind = kind;
    if (kind == CallKind::reduce_scatter) call.bytes *= static_cast<std::uint64_t>(ranks);
    return plan_for(call, Rank{0}, filled_nodes(ranks, 1), std::nullopt).program.steps.size();
  };
  CHECK(steps(CallKind::all_gather, 8, 512) == 1 + 2 * 9);
  CHECK(steps(CallKind::reduce_scatter, 8, 512) == 2 + 2 * 9);
  CHECK(steps(CallKind::all_gather, 8, 500) <= 1 + 3 * 9);
  for (const CallKind kind : {CallKind::all_gather, CallKind::reduce_scatter}) {
    CHECK(steps(kind, 4096, 512) == 1 + 2 * 511);
    CHECK(steps(kind, 8, 64) == 1 + 2 * 63);
  }
  CHECK(steps(CallKind::reduce_scatter, 8, 500) == 1 + 2 * 499);
}

TEST_CASE("ranks of one machine exchange directly, whatever is not short") {
  for (const std::uint64_t bytes : {4 << 10, 1 << 20, 100 << 20})
    CHECK(all_reduce_plan(all_reduce_of(bytes), filled_nodes(8, 8)).algorithm == Algorithm::direct);
}

/// Returns the number of steps of rank 0 where ranks share no memory, and may be on one machine.
std::size_t steps_of_separate(CallKind kind, std::uint64_t block, int ranks, bool is_one_machine) {
  Topology topology = filled_nodes(ranks, 1);
  topology.is_one_machine = is_one_machine;
  Call call = all_reduce_of(block);
  call.kind = kind;
  if (kind == CallKind::reduce_scatter) call.bytes *= static_cast<std::uint64_t>(ranks);
  return plan_for(call, Rank{0}, topology, std::nullopt).program.steps.size();
}

TEST_CASE("ranks of one machine that share no memory exchange long blocks as wholes") {
  for (const CallKind kind : {CallKind::all_gather, CallKind::all_to_all}) {
    CHECK(steps_of_separate(kind, 4 << 20, 4, true) == 1 + 2 * 3);
    CHECK(steps_of_separate(kind, 4 << 20, 4, false) == 1 + 16 * 2 * 3);
  }
}

TEST_CASE("ranks of one machine that share no memory exchange short blocks in few messages") {
  CHECK(steps_of_separate(CallKind::all_gather, 8, 4, true) == 1 + 2 * 2);
  CHECK(steps_of_separate(CallKind::all_gather, 8, 4, false) == 1 + 2 * 3);
  CHECK(steps_of_separate(CallKind::all_gather, 64 << 10, 8, true) == 1 + 2 * 3);
  CHECK(steps_of_separate(CallKind::all_gather, (64 << 10) + 4, 8, true) == 1 + 2 * 7);
  CHECK(steps_of_separate(CallKind::reduce_scatter, 8, 8, true) == 2 + 2 * 3);
  CHECK(steps_of_separate(CallKind::reduce_scatter, 8, 8, false) == 1 + 2 * 7);
}

TEST_CASE("two or four ranks exchange more at once than others, in as few steps as slices") {
  const auto algorithm = [](int ranks, std::uint64_t bytes) {
    return all_reduce_plan(all_reduce_of(bytes), filled_nodes(ranks, 1)).algorithm;
  };
  for (const int ranks : {2, 4}) {
    CHECK(algorithm(ranks, 64 << 10) == Algorithm::recursive_doubling);
    CHECK(algorithm(ranks, (64 << 10) + 4) != Algorithm::recursive_doubling);
  }
  for (const int ranks : {3, 5, 8, 16}) {
    CHECK(algorithm(ranks, 8 << 10) == Algorithm::recursive_doubling);
    CHECK(algorithm(ranks, 16 << 10) == Algorithm::direct);
  }
}

TEST_CASE("long data between machines goes by ring, where everybody hears from one alone") {
  for (const int ranks : {3, 4, 16, 100})
    CHECK(all_reduce_plan(all_reduce_of(100 << 20), filled_nodes(ranks, 1)).algorithm ==
          Algorithm::ring);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
