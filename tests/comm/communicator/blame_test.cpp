// The rank that is noted for the launcher of a job if all ranks get an error because of one.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gossip/gossip.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/multistep/multistep.hpp"
#include "support/blaming_ranks.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::BlamingRanks;
using test::failure_in;
using test::mentions;
using test::outcomes_of_ranks;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_SUITE_BEGIN("comm/blame");

/// Exchanges gradients for a step, with these settings.
void exchange(Communicator& comm, const GradientSettings& settings, const std::string& name,
              float value) {
  std::vector<float> values(3, value);
  GradientExchange exchange(comm, settings);
  exchange.add(name, std::span(values));
  exchange.all_reduce_gradients(ReduceOp::average);
}

/// Makes a step of multistep training in that mode.
void train(Communicator& comm, const std::string& mode, const GradientSettings& settings,
           float value) {
  std::vector<float> values(3, 1);
  Multistep steps(comm, multistep_settings(mode), settings);
  steps.add({.name = "w", .shape = {3}}, std::as_writable_bytes(std::span(values)));
  steps.begin();
  values[1] = value;
  steps.step();
}

/// The calls of one rank. `is_odd` is true for the rank that differs from the others.
using Act = std::function<void(Communicator&, bool is_odd)>;

std::vector<std::pair<std::string, Act>> differences() {
  return {
      {"other gradients",
       [](Communicator& comm, bool is_odd) { exchange(comm, {}, is_odd ? "bias" : "weight", 1); }},
      {"another setting",
       [](Communicator& comm, bool is_odd) {
         exchange(comm, {.streams = is_odd ? 3 : 2}, "weight", 1);
       }},
      {"another wire",
       [](Communicator& comm, bool is_odd) {
         exchange(comm, {.wire = is_odd ? WireType::float16 : WireType::same}, "weight", 1);
       }},
      {"a gradient that is not ready",
       [](Communicator& comm, bool is_odd) {
         std::vector<float> a(3), b(3);
         GradientExchange exchange(comm);
         const GradientId first = exchange.add("a", std::span(a));
         const GradientId second = exchange.add("b", std::span(b));
         exchange.ready(first);
         if (!is_odd) exchange.ready(second);
         exchange.wait_step();
       }},
      {"a number that is not finite",
       [](Communicator& comm, bool is_odd) {
         exchange(comm, {.non_finite = NonFiniteAction::stop}, "weight", is_odd ? kNan : 1);
       }},
      {"another mode of multistep training",
       [](Communicator& comm, bool is_odd) {
         train(comm, is_odd ? "slices=1" : "local_steps=1", {}, 2);
       }},
      {"parameters of multistep training that are not finite",
       [](Communicator& comm, bool is_odd) {
         train(comm, "local_steps=1", {.non_finite = NonFiniteAction::stop}, is_odd ? kNan : 2);
       }},
      {"other parameters of gossip",
       [](Communicator& comm, bool is_odd) {
         std::vector<float> values(3, 1);
         Gossip gossip(comm, {});
         gossip.add(is_odd ? "bias" : "weight", std::span(values));
         gossip.step();
       }},
      {"a parameter of gossip that is not finite", [](Communicator& comm, bool is_odd) {
         std::vector<float> values(3, is_odd ? kNan : 1);
         Gossip gossip(comm, {});
         gossip.add("weight", std::span(values));
         gossip.step();
       }}};
}

TEST_CASE("a rank that differs is noted by all others, for every error that names it") {
  for (const auto& [what, act] : differences())
    for (const int odd : {1, 2}) {
      BlamingRanks job(3, 20s);
      const auto outcomes = outcomes_of_ranks(job.ranks, [&](std::optional<Communicator>& comm) {
        act(*comm, comm->rank() == Rank{odd});
      });
      INFO(what, ", rank ", odd);
      for (const auto& outcome : outcomes)
        CHECK(mentions(failure_in(outcome), "rank " + std::to_string(odd)));
      std::vector<int> wanted(3, odd);
      wanted[static_cast<std::size_t>(odd)] = -1;
      CHECK(job.seen() == wanted);
    }
}

TEST_CASE("a group notes the rank by its number in the job") {
  BlamingRanks job(3, 20s);
  outcomes_of_ranks(job.ranks, [](std::optional<Communicator>& comm) {
    auto group = comm->split(comm->rank() == Rank{0} ? -1 : 0, 0);
    if (group) group->blame({1});
  });
  CHECK(job.seen() == std::vector{-1, 2, -1});
  CHECK(mentions(test::failure_of([&] { job.ranks[0]->blame({3}); }), "there is no rank 3"));
}

TEST_CASE("a later cause takes the place of an error that the program has survived") {
  BlamingRanks job(3, 20s);
  outcomes_of_ranks(job.ranks, [](std::optional<Communicator>& comm) {
    comm->blame({1});
    comm->barrier();
    if (comm->rank() == Rank{2}) return comm->give_up(Error(ErrorKind::remote, "the disk is full"));
    for (;;)
      comm->barrier();
  });
  CHECK(job.seen() == std::vector{2, 2, 2});  // Itself: no note is left.
  job.ranks[0]->blame({1});
  CHECK(job.seen()[0] == 2);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
