// The order of gradients in saved states: a set that continues has the buckets that it had.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "comm/gradients/saved_gradients.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_of;
using test::index_of;
using test::mentions;
using test::run_ranks;
using SavedBytes = std::vector<std::byte>;

TEST_SUITE_BEGIN("comm/gradients/saved_order");

constexpr std::size_t kOrderedLengths[] = {500, 3100, 1200};

/// Three small gradients in one bucket. They become ready as they were registered, which is not the
/// order of a set before its first step.
class OrderedModel {
 public:
  OrderedModel(Communicator& comm, const std::string& wire)
      : comm_(comm), exchange_(comm, settings_of(wire)) {
    for (const std::size_t length : kOrderedLengths)
      values_.emplace_back(length);
    for (std::size_t i = 0; i < values_.size(); ++i)
      exchange_.add("g" + std::to_string(i), std::span(values_[i]));
  }

  std::vector<std::vector<float>> step(int number) {
    double at = 1 + number * 0.37 + comm_.rank().value * 1.7;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      for (float& each : values_[i])
        each = static_cast<float>(std::sin(at += 0.61) / 3);
      exchange_.ready({i});
    }
    exchange_.wait_step();
    return values_;
  }
  GradientExchange& exchange() noexcept { return exchange_; }

 private:
  static GradientSettings settings_of(const std::string& wire) {
    return gradient_settings([&](const std::string& name) -> std::optional<std::string> {
      if (name == "FASTGPU_COMM_WIRE") return wire;
      if (name == "FASTGPU_COMM_MIXED_SMALL") return "1";
      return std::nullopt;
    });
  }

  Communicator& comm_;
  std::vector<std::vector<float>> values_;
  GradientExchange exchange_;
};

/// Returns the number of steps, of all ranks, whose results are others once a set continues from
/// its state. `load` loads it on each rank.
int steps_that_differ(const std::string& wire,
                      const std::function<void(OrderedModel&, Rank, const SavedBytes&)>& load) {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<int> wrong(3);
  run_ranks(ranks, [&](Communicator& comm) {
    OrderedModel first(comm, wire);
    for (int step = 0; step < 3; ++step)
      first.step(step);
    const SavedBytes saved = first.exchange().saved_state();
    if (first.exchange().saved_bytes() != saved.size()) ++wrong[index_of(comm)];
    OrderedModel second(comm, wire);
    load(second, comm.rank(), saved);
    for (int step = 3; step < 6; ++step)
      if (first.step(step) != second.step(step)) ++wrong[index_of(comm)];
  });
  return wrong[0] + wrong[1] + wrong[2];
}

TEST_CASE("gradients of three ranks go on bit by bit from a saved state, on every wire") {
  for (const std::string wire : {"same", "fp16", "mixed", "int8", "1bit", "topk:0.2"}) {
    CAPTURE(wire);
    CHECK(steps_that_differ(wire, [](OrderedModel& model, Rank, const SavedBytes& saved) {
            model.exchange().load_state(saved);
          }) == 0);
  }
}

TEST_CASE("a state that rank 0 alone has loaded gives all ranks its order") {
  CHECK(steps_that_differ("same", [](OrderedModel& model, Rank rank, const SavedBytes& saved) {
          if (rank == Rank{0}) model.exchange().load_state(saved);
        }) == 0);
  // A state that another rank alone has loaded is left out, and does not hold up the job.
  const auto load_on_last = [](OrderedModel& model, Rank rank, const SavedBytes& saved) {
    if (rank == Rank{2}) model.exchange().load_state(saved);
  };
  CHECK_NOTHROW(steps_that_differ("same", load_on_last));
}

TEST_CASE("without a codec a state has the order alone, for jobs of any number of ranks") {
  auto three = communicators_in_process(3, 20s);
  std::vector<SavedBytes> saved(3);
  run_ranks(three, [&](Communicator& comm) {
    OrderedModel model(comm, "same");
    if (!model.exchange().saved_state().empty()) throw Error(ErrorKind::internal, "it has a state");
    if (model.exchange().saved_bytes() != 0) throw Error(ErrorKind::internal, "it has a length");
    model.step(0);
    saved[index_of(comm)] = model.exchange().saved_state();
  });
  CHECK(saved[1] == saved[0]);
  CHECK(decode_gradients(saved[2]).order == std::vector<std::string>{"g0", "g1", "g2"});
  CHECK(decode_gradients(saved[2]).codec.empty());
  auto two = communicators_in_process(2, 20s);
  run_ranks(two, [&](Communicator& comm) {
    OrderedModel model(comm, "1bit");
    model.exchange().load_state(saved[2]);
    model.step(0);
  });
}

TEST_CASE("the order of other gradients is not taken") {
  GradientTable table;
  table.add({.name = "a", .shape = {1}});
  table.add({.name = "b", .shape = {2}});
  using Names = std::vector<std::string>;
  CHECK(order_of_names(table, Names{"b", "a"}) == std::vector<GradientId>{{1}, {0}});
  CHECK_FALSE(order_of_names(table, Names{"b", "c"}));
  CHECK_FALSE(order_of_names(table, Names{"b"}));
  CHECK_FALSE(order_of_names(table, Names{"b", "a", "c"}));
  CHECK_FALSE(order_of_names(table, std::nullopt));
}

TEST_CASE("a saved order that is damaged anywhere is refused") {
  const SavedBytes codec(9, std::byte{3});
  const SavedBytes saved = encode(SavedGradients{
      .order = std::vector<std::string>{"fc.weight", "", "fc.bias"}, .codec = codec});
  const SavedGradients read = decode_gradients(saved);
  CHECK(read.order == std::vector<std::string>{"fc.weight", "", "fc.bias"});
  CHECK(std::ranges::equal(read.codec, codec));
  for (std::size_t at = 0; at < 8 * saved.size(); ++at) {
    SavedBytes flipped = saved;
    flipped[at / 8] ^= std::byte{1} << at % 8;
    CAPTURE(at);
    CHECK(failure_of([&] { decode_gradients(flipped); }).kind() == ErrorKind::usage);
  }
  for (std::size_t length = 1; length < saved.size(); ++length)
    CHECK(failure_of([&] { decode_gradients(std::span(saved).first(length)); }).kind() ==
          ErrorKind::usage);
  CHECK_FALSE(decode_gradients({}).order);
  CHECK(mentions(
      failure_of([] {
        decode_gradients(encode(SavedGradients{.order = std::vector<std::string>{"a", "b", "a"}}));
      }),
      "its order has a gradient twice"));
}

TEST_CASE("without a codec the state is saved within a step as well, such as one that has failed") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<int> wrong(2);
  run_ranks(ranks, [&](Communicator& comm) {
    OrderedModel model(comm, "same");
    model.step(0);
    model.step(1);
    const SavedBytes between = model.exchange().saved_state();
    model.exchange().ready({0});
    const bool is_same = model.exchange().saved_state() == between &&
                         model.exchange().saved_bytes() == between.size();
    wrong[index_of(comm)] = between.empty() || !is_same ? 1 : 0;
    model.exchange().ready({1});
    model.exchange().ready({2});
    model.exchange().wait_step();
  });
  CHECK(wrong == std::vector<int>{0, 0});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
