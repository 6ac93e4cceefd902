// Ranks that are late in a step, and ranks that leave.
#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::able_to_leave;
using test::communicators_in_process;
using test::failure_in;
using test::index_of;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::Sentences;
using test::small_buckets;

TEST_SUITE_BEGIN("comm/gradients");

TEST_CASE("a rank that leaves ends the training of all") {
  auto ranks = communicators_in_process(3, 5s);
  std::vector<int> steps(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(500, 1);
    GradientExchange exchange(comm, small_buckets());
    exchange.add("a", std::span(a));
    for (bool is_over = false; !is_over; ++steps[index_of(comm)]) {
      if (comm.rank() == Rank{1} && steps[1] == 2) {
        exchange.leave();
        return;
      }
      exchange.ready({0});
      is_over = exchange.wait_step().is_somebody_leaving;
    }
  });
  CHECK(steps == std::vector{3, 2, 3});
}

/// Rank 1 of three makes "a" ready and "b" not before `may_go_on`.
std::vector<Sentences> warnings_of_a_late_rank(std::chrono::milliseconds stall,
                                               const std::function<void()>& be_late) {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<Sentences> warnings(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(5), b(5);
    GradientSettings settings;
    settings.stall = stall;
    GradientExchange exchange(comm, settings, &warnings[index_of(comm)]);
    exchange.add("a", std::span(a));
    exchange.add("b", std::span(b));
    exchange.ready({0});
    if (comm.rank() == Rank{1}) be_late();
    exchange.ready({1});
    exchange.wait_step();
  });
  return warnings;
}

TEST_CASE("who waits is told for which rank, and with what it is late, ever more seldom") {
  const auto warnings = warnings_of_a_late_rank(300ms, [] { std::this_thread::sleep_for(1500ms); });
  const std::string late =
      "rank 1 has not made ready in step 0: 'b' of 2 gradients; this rank has ";
  CHECK(warnings[1].all.empty());
  for (const std::size_t r : {0, 2}) {
    REQUIRE(warnings[r].all.size() >= 2);  // On a busy machine it is later still.
    CHECK(warnings[r].all[0] == late + "waited for 300ms");
    CHECK(warnings[r].all[1] == late + "waited for 900ms");
  }
}

TEST_CASE("who gives up waiting for a rank names the gradients that it has not made ready") {
  auto ranks = communicators_in_process(3, 1s);
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(5), b(5);
    GradientSettings settings;
    settings.stall = 200ms;
    Sentences warnings;
    GradientExchange exchange(comm, settings, &warnings);
    exchange.add("a", std::span(a));
    exchange.add("b", std::span(b));
    exchange.ready({0});
    if (comm.rank() == Rank{1}) std::this_thread::sleep_for(4s);
    exchange.ready({1});
    exchange.wait_step();
  });
  for (const std::size_t rank : {0, 2}) {
    const Error e = failure_in(outcomes[rank]);
    CHECK(e.kind() == ErrorKind::transient);
    CHECK(mentions(e, "the end of a step of gradients (a message of 9 bytes)"));
    CHECK(mentions(e, "; rank 1 has not made ready in step 0: 'b' of 2 gradients"));
  }
}

TEST_CASE("nobody is told of a rank that is not waited for that long") {
  const auto warnings = warnings_of_a_late_rank(1s, [] { std::this_thread::sleep_for(100ms); });
  for (const Sentences& each : warnings)
    CHECK(each.all.empty());
}

TEST_CASE("steps that take all ranks long are nothing to be told of") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<Sentences> warnings(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(5);
    GradientSettings settings;
    settings.stall = 100ms;
    GradientExchange exchange(comm, settings, &warnings[index_of(comm)]);
    exchange.add("a", std::span(a));
    for (int step = 0; step < 2; ++step) {
      std::this_thread::sleep_for(250ms);
      exchange.ready({0});
      exchange.wait_step();
    }
  });
  for (const Sentences& each : warnings)
    CHECK(each.all.empty());
}

TEST_CASE("a rank that lingers after others have left breaks nothing by being late") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto own = able_to_leave(communicators_in_process(3, 5s, shared_memory));
    std::vector<float> sums(own.size());
    run_ranks(own, [&](std::optional<Communicator>& comm) {
      const Rank rank = comm->rank();
      auto pair = comm->split(rank == Rank{1} ? -1 : 0, 0);
      float sum = 1;
      {
        std::vector<float> a(5);
        GradientSettings settings;
        settings.stall = 20ms;
        GradientExchange exchange(*comm, settings);
        exchange.add("a", std::span(a));
        exchange.all_reduce_gradients(ReduceOp::sum);
        if (rank != Rank{1}) std::this_thread::sleep_for(300ms);
        if (rank != Rank{1}) pair->all_reduce(std::span(&sum, 1), ReduceOp::sum);
      }
      sums[static_cast<std::size_t>(rank.value)] = sum;
      if (rank == Rank{1}) comm.reset();
    });
    CHECK(sums == std::vector{2.0F, 1.0F, 2.0F});
  }
}

TEST_CASE("a rank that leaves may be gone before the others have ended their step") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    for (int run = 0; run < 10; ++run) {
      auto own = able_to_leave(communicators_in_process(5, 5s, shared_memory));
      CHECK_NOTHROW(run_ranks(own, [&](std::optional<Communicator>& comm) {
        std::vector<float> a(5);
        {
          GradientExchange exchange(*comm);
          exchange.add("a", std::span(a));
          exchange.ready({0});
          if (comm->rank().value == run % 5)
            exchange.leave();
          else
            exchange.wait_step();
        }
        comm.reset();
      }));
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
