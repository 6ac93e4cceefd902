#include "comm/gradients/gradient_exchange.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::all_are;
using test::communicators_in_process;
using test::failure_of;
using test::index_of;
using test::run_ranks;
using test::small_buckets;

TEST_SUITE_BEGIN("comm/gradients");

TEST_CASE("every registered gradient is averaged over the ranks, step after step") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::string> failures(ranks.size());

  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> small(2), tiny(1), large(100), other(5);
    std::vector<double> precise(4);
    GradientExchange exchange(comm, small_buckets());
    exchange.add("small", std::span(small));
    exchange.add("tiny", std::span(tiny));
    exchange.add("large", std::span(large));
    exchange.add("precise", std::span(precise));
    exchange.add("other", std::span(other));
    for (int step = 1; step <= 3; ++step) {
      const int mine = step * (comm.rank().value + 1);  // Averages to 2 * step over three ranks.
      for (auto* values : {&small, &tiny, &large, &other})
        values->assign(values->size(), static_cast<float>(mine));
      precise.assign(precise.size(), mine);
      exchange.all_reduce_gradients(ReduceOp::average);
      auto& failure = failures[index_of(comm)];
      for (const auto* values : {&small, &tiny, &large, &other})
        if (!all_are(*values, 2 * step)) failure = "float32 in step " + std::to_string(step);
      if (!all_are(precise, 2 * step)) failure = "float64 in step " + std::to_string(step);
    }
  });

  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("an exchange without gradients does nothing") {
  auto ranks = communicators_in_process(2, 5s);
  CHECK_NOTHROW(run_ranks(ranks, [](Communicator& comm) {
    GradientExchange(comm).all_reduce_gradients(ReduceOp::average);
  }));
}

TEST_CASE("what cannot be registered, or be ready, is refused") {
  auto ranks = communicators_in_process(1, 1s);
  std::vector<float> values(3);
  GradientExchange exchange(ranks[0]);
  const auto kind_of = [&](auto action) { return failure_of(action).kind(); };
  exchange.add("weights", std::span(values));
  CHECK(kind_of([&] { exchange.ready({7}); }) == ErrorKind::usage);
  CHECK(kind_of([&] { exchange.view({7}); }) == ErrorKind::usage);
  CHECK(kind_of([&] {
          exchange.add({.name = "vast", .shape = {1 << 20, 1 << 21}}, {});
        }) == ErrorKind::usage);
  // No step has begun: another gradient may still be registered.
  const GradientId seen = exchange.add({.name = "seen", .shape = {3}}, {});
  CHECK(kind_of([&] { exchange.add("weights", std::span(values)); }) == ErrorKind::usage);
  CHECK(kind_of([&] {
          exchange.add({.name = "more", .shape = {4}}, std::as_writable_bytes(std::span(values)));
        }) == ErrorKind::usage);
  CHECK(kind_of([&] { exchange.ready({7}); }) == ErrorKind::usage);
  const auto bytes = std::as_writable_bytes(std::span(values));
  CHECK(kind_of([&] { exchange.ready_at({7}, bytes); }) == ErrorKind::usage);
  CHECK(kind_of([&] { exchange.ready_at({0}, bytes.first(8)); }) == ErrorKind::usage);
  CHECK(mentions(failure_of([&] { exchange.ready_at(seen, bytes); }),
                 "'seen' is written into its view"));
  exchange.ready_at({0}, bytes);
  CHECK(kind_of([&] { exchange.ready_at({0}, bytes); }) == ErrorKind::usage);
  CHECK(kind_of([&] { exchange.ready({0}); }) == ErrorKind::usage);
  exchange.ready(seen);
  CHECK(kind_of([&] { exchange.use_operation(ReduceOp::max); }) == ErrorKind::usage);
  CHECK(kind_of([&] { exchange.add("bias", std::span(values)); }) == ErrorKind::usage);
  CHECK(exchange.wait_step().is_applied);
}

TEST_CASE("a gradient may be in other memory in each step, and gets its result there") {
  auto ranks = communicators_in_process(2, 5s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> registered(1000, -1), other(3);
    GradientExchange exchange(comm, small_buckets());
    const GradientId moving = exchange.add("moving", std::span(registered));
    const GradientId staying = exchange.add("staying", std::span(other));
    auto& failure = failures[index_of(comm)];
    for (int step = 1; step <= 4; ++step) {
      const auto mine = static_cast<float>(2 * step * (comm.rank().value + 1));
      other.assign(3, mine);
      std::vector<float> elsewhere(1000, mine);
      if (step == 3) registered.assign(1000, mine);
      if (step == 3)
        exchange.ready(moving);  // This memory is the gradient's in all other steps.
      else
        exchange.ready_at(moving, std::as_writable_bytes(std::span(elsewhere)));
      exchange.ready(staying);
      exchange.wait_step();
      if (!all_are(step == 3 ? registered : elsewhere, 3 * step)) failure = "no result";
      if (!all_are(other, 3 * step)) failure = "no result of the other";
      if (step < 3 && !all_are(registered, -1)) failure = "written to where it was not";
    }
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("a view is where the framework writes and reads, and moves once the order is known") {
  auto ranks = communicators_in_process(2, 5s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientExchange exchange(comm);
    const GradientId first = exchange.add({.name = "first", .shape = {10}}, {});
    const GradientId second = exchange.add({.name = "second", .shape = {100}}, {});
    for (int step = 0; step < 3; ++step) {
      for (const GradientId id : {first, second}) {
        const std::vector<float> mine(exchange.table().elements(id),
                                      static_cast<float>(comm.rank().value * 2 + step));
        std::ranges::copy(std::as_bytes(std::span(mine)), exchange.view(id).begin());
        exchange.ready(id);
      }
      const StepOutcome outcome = exchange.wait_step();
      auto& failure = failures[index_of(comm)];
      if (outcome.have_views_moved != (step == 0)) failure = "moved";
      for (const GradientId id : {first, second}) {
        const auto value = *reinterpret_cast<const float*>(exchange.view(id).data());
        if (value != static_cast<float>(1 + step)) failure = "value " + std::to_string(value);
      }
    }
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("what is ready on no rank is skipped by all, and left as it was") {
  auto ranks = communicators_in_process(4, 5s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(50, 1), b(50, 2), c(50, 3);
    GradientExchange exchange(comm, small_buckets());
    exchange.add("a", std::span(a));
    const GradientId skipped = exchange.add("b", std::span(b));
    exchange.add("c", std::span(c));
    exchange.use_operation(ReduceOp::sum);
    exchange.ready({0});
    exchange.ready({2});
    const StepOutcome outcome = exchange.wait_step();
    auto& failure = failures[index_of(comm)];
    if (outcome.skipped != std::vector{skipped}) failure = "skipped";
    if (!all_are(a, 4) || !all_are(b, 2) || !all_are(c, 12)) failure = "values";
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("what is ready on some ranks only is an error that names the others, and may be mended") {
  for (int size = 2; size <= 5; ++size) {
    auto ranks = communicators_in_process(size, 5s);
    std::vector<std::string> said(ranks.size());
    std::vector<float> sums(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> a(50, 1), b(70, 2), c(50, 3);
      GradientExchange exchange(comm, small_buckets());
      for (auto* values : {&a, &b, &c})
        exchange.add(std::string(1, static_cast<char>('a' + (values - &a))), std::span(*values));
      exchange.use_operation(ReduceOp::sum);
      exchange.ready({2});
      if (comm.rank() != Rank{1}) exchange.ready({1});
      exchange.ready({0});
      try {
        exchange.wait_step();
      } catch (const Error& e) {
        said[index_of(comm)] = e.what();
      }
      a.assign(a.size(), 1);
      for (const std::size_t id : {0, 1, 2})
        exchange.ready({id});
      exchange.wait_step();
      sums[index_of(comm)] = a[49];
    });
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      CHECK(said[r].find("rank 1 has not made ready in step 0: '") == 0);
      CHECK(said[r].find(" of 3 gradients") != std::string::npos);
      CHECK(sums[r] == static_cast<float>(size));
    }
  }
}

TEST_CASE("views stay where they are after a step that has failed") {
  auto ranks = communicators_in_process(2, 5s);
  std::vector<float> sums(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientSettings settings;
    settings.non_finite = NonFiniteAction::stop;
    GradientExchange exchange(comm, settings);
    for (const char* name : {"a", "b"})
      exchange.add({.name = name, .shape = {100}}, {});
    std::array<float*, 2> views{};
    for (std::size_t id = 0; id < 2; ++id)
      views[id] = reinterpret_cast<float*>(exchange.view({id}).data());
    // Ready in another order than planned, so that the plan would change after the first step.
    const auto step = [&](float value) {
      for (const std::size_t id : {0, 1}) {
        std::fill_n(views[id], 100, value);
        exchange.ready({id});
      }
      return exchange.wait_step();
    };
    try {
      step(std::numeric_limits<float>::quiet_NaN());
    } catch (const Error&) {
      step(3);
      sums[index_of(comm)] = views[0][99] + views[1][0];
    }
  });
  CHECK(sums == std::vector{6.0F, 6.0F});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
