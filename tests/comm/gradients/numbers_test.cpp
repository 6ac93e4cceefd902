// What a gradient exchange makes of numbers: sums as in float64, types on the wire, NaN and
// infinity.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "support/connect_in_process.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::all_are;
using test::communicators_in_process;
using test::index_of;
using test::run_ranks;
using test::Sentences;
using Random = std::mt19937;

/// What the ranks have of one model, and what comes of it.
struct Model {
  std::vector<GradientInfo> infos;
  std::vector<std::vector<std::vector<float>>> values;  ///< [rank][gradient]

  Model(Random& random, int ranks) : values(static_cast<std::size_t>(ranks)) {
    const std::size_t count = 1 + random() % 30;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t length = random() % 4 == 0 ? random() % 20'000 : random() % 70;
      infos.push_back({.name = "g" + std::to_string(i), .shape = {length}});
      for (auto& rank : values) {
        std::vector<float> gradient(length);
        for (float& value : gradient)
          value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 700.0F;
        rank.push_back(std::move(gradient));
      }
    }
  }

  double average(std::size_t gradient, std::size_t element) const {
    double sum = 0;
    for (const auto& rank : values)
      sum += static_cast<double>(rank[gradient][element]);
    return sum / static_cast<double>(values.size());
  }
};

/// Makes every gradient ready in an order of its own, by one to three threads.
void make_ready(GradientExchange& exchange, std::size_t gradients, Random random) {
  std::vector<std::size_t> order(gradients);
  for (std::size_t i = 0; i < gradients; ++i)
    order[i] = i;
  std::ranges::shuffle(order, random);
  const std::size_t workers = 1 + random() % 3;
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&exchange, &order, worker, workers] {
      for (std::size_t i = worker; i < order.size(); i += workers) {
        exchange.ready({order[i]});
        if (order[i] % 3 == 0) std::this_thread::yield();
      }
    });
}

GradientSettings random_settings(Random& random) {
  constexpr WireType kWires[] = {WireType::same, WireType::same, WireType::float16,
                                 WireType::bfloat16, WireType::mixed};
  GradientSettings settings;
  settings.bucket = {64 + random() % 30'000};
  settings.wire = kWires[random() % std::size(kWires)];
  settings.small = {200};
  settings.streams = 1 + static_cast<int>(random() % 4);
  settings.non_finite = NonFiniteAction{static_cast<std::uint8_t>(random() % 3)};
  return settings;
}

double tolerance(WireType wire, int ranks) {
  switch (wire) {
    case WireType::same:
    case WireType::encoded:  // Not among those above.
      return 1.5e-7 * 2 * ranks;
    case WireType::float16:
    case WireType::mixed:
      return 5e-4 * 2 * ranks;
    case WireType::bfloat16:
      return 4e-3 * 2 * ranks;
  }
  return 0;
}

TEST_SUITE_BEGIN("comm/gradients");

TEST_CASE("mixed adds in float32 what float16 would lose, and leaves the rest in float32") {
  auto ranks = communicators_in_process(9, 20s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> large(1003, comm.rank() == Rank{0} ? 2048.0F : 1.0F);
    std::vector<float> small(3, comm.rank() == Rank{0} ? 1.0F : 1e-6F);
    GradientSettings settings;
    settings.wire = WireType::mixed;
    settings.small = {100};
    settings.bucket = {640};
    GradientExchange exchange(comm, settings);
    exchange.add("large", std::span(large));
    exchange.add("small", std::span(small));
    exchange.all_reduce_gradients(ReduceOp::sum);
    if (!all_are(large, 2056)) failures[index_of(comm)] = "large";
    if (std::abs(small[2] - 1.000008F) > 2e-7F) failures[index_of(comm)] = "small";
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("any gradients, in any order of readiness, are averaged as in float64") {
  Random random(11);
  for (int run = 0; run < 40; ++run) {
    const int size = 1 + run % 9;
    auto ranks = communicators_in_process(size, 20s, SharedMemory::on, 1, 1 + run % 4);
    const GradientSettings settings = random_settings(random);
    std::vector<Model> steps;
    for (int step = 0; step < 3; ++step) {
      Random same(static_cast<unsigned>(run));  // The same gradients in every step.
      steps.emplace_back(same, size);
    }
    std::vector<std::vector<std::vector<float>>> results(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      const std::size_t rank = index_of(comm);
      Random own(static_cast<unsigned>(1000 * run) + static_cast<unsigned>(rank));
      auto& mine = results[rank] = steps[0].values[rank];
      GradientExchange exchange(comm, settings);
      for (std::size_t i = 0; i < mine.size(); ++i)
        exchange.add(steps[0].infos[i], std::as_writable_bytes(std::span(mine[i])));
      for (const Model& step : steps) {
        for (std::size_t i = 0; i < mine.size(); ++i)
          std::ranges::copy(step.values[rank][i], mine[i].begin());
        make_ready(exchange, mine.size(), own);
        exchange.wait_step();
        own.discard(17);
      }
    });
    double worst = 0;
    for (std::size_t i = 0; i < steps[2].infos.size(); ++i)
      for (std::size_t k = 0; k < results[0][i].size(); ++k)
        worst = std::max(worst,
                         std::abs(static_cast<double>(results[0][i][k]) - steps[2].average(i, k)));
    CAPTURE(run);
    CHECK(worst <= tolerance(settings.wire, size));
    for (const auto& rank : results)
      CHECK(rank == results[0]);
  }
}

TEST_CASE("every number that is none is reported with rank, gradient, step and first index") {
  Random random(5);
  for (int run = 0; run < 60; ++run) {
    const int size = 1 + run % 6;
    auto ranks = communicators_in_process(size, 20s);
    GradientSettings settings = random_settings(random);
    settings.non_finite = NonFiniteAction{static_cast<std::uint8_t>(1 + run % 3)};
    Random same(static_cast<unsigned>(run));
    Model model(same, size);
    NonFiniteReport expected{{static_cast<int>(random()) & 0xffff}, {0}, 0, {}};
    expected.rank.value %= size;
    do
      expected.gradient = {random() % model.infos.size()};
    while (model.infos[expected.gradient.value].shape[0] == 0 && random() % 50 != 0);
    auto& bad =
        model.values[static_cast<std::size_t>(expected.rank.value)][expected.gradient.value];
    if (bad.empty()) continue;
    expected.index = random() % bad.size();
    expected.value = NonFiniteReport::Value{static_cast<std::uint8_t>(random() % 2)};
    bad[expected.index] = expected.value == NonFiniteReport::Value::nan
                              ? std::numeric_limits<float>::quiet_NaN()
                              : -std::numeric_limits<float>::infinity();
    ElementType on_wire = ElementType::float32;
    if (random() % 2 == 0) bad.back() = bad[expected.index];
    const std::uint32_t at_step = run % 2 == 0 ? 0 : 1;
    std::vector<Sentences> said(ranks.size());
    std::vector<std::string> failures(ranks.size());
    std::vector<std::string> stopped(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      const std::size_t rank = index_of(comm);
      auto values = model.values[rank];
      GradientExchange exchange(comm, settings, &said[rank]);
      for (std::size_t i = 0; i < values.size(); ++i)
        exchange.add(model.infos[i], std::as_writable_bytes(std::span(values[i])));
      for (std::uint32_t step = 0; step <= at_step; ++step) {
        for (std::size_t i = 0; i < values.size(); ++i)
          if (step == at_step)
            std::ranges::copy(model.values[rank][i], values[i].begin());
          else
            std::ranges::fill(values[i], 1.0F);
        make_ready(exchange, values.size(), Random(step));
        if (rank == 0) on_wire = exchange.wire_type(expected.gradient);
        try {
          const StepOutcome outcome = exchange.wait_step();
          if (step < at_step) continue;
          if (outcome.non_finite != expected) failures[rank] = "another report";
          if (outcome.is_applied != (settings.non_finite == NonFiniteAction::warn))
            failures[rank] = "applied";
          if (settings.non_finite == NonFiniteAction::stop) failures[rank] = "not stopped";
        } catch (const Error& e) {
          if (settings.non_finite != NonFiniteAction::stop) throw;
          stopped[rank] = e.what();
        }
      }
    });
    const bool is_nan = expected.value == NonFiniteReport::Value::nan;
    const std::string sentence =
        "step " + std::to_string(at_step) + ": gradient 'g" +
        std::to_string(expected.gradient.value) + "' of rank " +
        std::to_string(expected.rank.value) + " has " + (is_nan ? "NaN" : "infinity") +
        " at index " + std::to_string(expected.index) +
        (is_nan || on_wire == ElementType::float32
             ? ""
             : ", as " + std::string(name_of(on_wire)) + " on the wire (FASTGPU_COMM_WIRE)");
    CHECK(failures == std::vector<std::string>(ranks.size()));
    const auto bad_rank = static_cast<std::size_t>(expected.rank.value);
    const bool is_stopped = settings.non_finite == NonFiniteAction::stop;
    CHECK(stopped == std::vector<std::string>(ranks.size(), is_stopped ? sentence : ""));
    for (std::size_t r = 0; r < said.size(); ++r)  // One line for the job, by the rank that has it.
      CHECK(said[r].all == std::vector<std::string>(r == bad_rank ? 1 : 0, sentence));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
