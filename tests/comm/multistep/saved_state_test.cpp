// Saved states of multistep training: how it goes on from them, and which are refused.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/multistep/multistep.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/multistep_trainee.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_in;
using test::failure_of;
using test::index_of;
using test::kAllModes;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::Trainee;
using test::Training;

TEST_SUITE_BEGIN("comm/multistep/saved_state");

/// Returns the ranks that have other parameters in the end if they continue from a state that was
/// saved after `until` batches.
std::vector<std::string> ranks_that_diverge(const std::string& mode, const Training& training,
                                            int until, const GradientSettings& settings) {
  auto ranks = communicators_in_process(static_cast<int>(training.batches.size()), 20s);
  std::vector<std::string> wrong(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    const std::size_t rank = index_of(comm);
    Trainee<float> first(comm, mode, settings);
    first.train(training, until);
    const std::vector<std::byte> state = first.steps().saved_state();
    if (first.steps().saved_bytes() != state.size()) wrong[rank] = "another length";
    const auto saved = first.saved();
    first.train(training, training.batches[rank]);
    first.finish();
    Trainee<float> second(comm, mode, settings);
    second.load(saved);
    second.steps().load_state(state);
    second.train(training, training.batches[rank]);
    second.finish();
    if (first.parameters() != second.parameters()) wrong[rank] = "other parameters";
  });
  return wrong;
}

GradientSettings settings_of_wire(const std::string& wire) {
  return gradient_settings([&](const std::string& name) -> std::optional<std::string> {
    if (name == "FASTGPU_COMM_WIRE") return wire;
    if (name == "FASTGPU_COMM_MIXED_SMALL") return "1";
    return std::nullopt;
  });
}

TEST_CASE("training goes on bit by bit from a saved state, wherever it was saved") {
  for (const std::string& mode : kAllModes)
    for (const int until : {3, 4}) {
      CAPTURE(mode);
      CHECK(ranks_that_diverge(mode, {.batches = {9, 11}, .has_weights = true}, until, {}) ==
            std::vector<std::string>(2));
    }
}

TEST_CASE("with three ranks and several tensors in a bucket it goes on bit by bit on every wire") {
  // The order of gradients in a bucket decides which rank adds which numbers first.
  for (const std::string wire : {"same", "fp16", "mixed", "int8", "1bit", "topk:0.2"})
    for (const char* const mode :
         {"accumulate=2", "local_steps=2", "diloco=2,rate=0.7,momentum=0.9", "delay=1", "slices=2"})
      for (const int until : {0, 3, 4}) {
        CAPTURE(mode);
        CAPTURE(until);
        CAPTURE(wire);
        CHECK(ranks_that_diverge(mode, {.batches = {8, 9, 8}}, until, settings_of_wire(wire)) ==
              std::vector<std::string>(3));
      }
}

TEST_CASE("a set that has made steps takes the order of the state that it loads") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<std::string> wrong(3);
  run_ranks(ranks, [&](Communicator& comm) {
    const Training training{.batches = {8, 8, 8}};
    Trainee<float> first(comm, "accumulate=1");
    const std::vector<std::byte> at_first = first.steps().saved_state();
    const auto parameters = first.saved();
    first.train(training, 8);
    Trainee<float> second(comm, "accumulate=1");
    second.train(training, 5);
    second.steps().load_state(at_first);
    second.load(parameters);
    second.train(training, 8);
    if (first.parameters() != second.parameters()) wrong[index_of(comm)] = "other parameters";
  });
  CHECK(wrong == std::vector<std::string>(3));
}

TEST_CASE("the state of another rank, mode or set of tensors is refused") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<std::vector<std::byte>> states(2);
  run_ranks(ranks, [&](Communicator& comm) {
    Trainee<float> trainee(comm, "local_steps=2");
    states[index_of(comm)] = trainee.steps().saved_state();
  });
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    Trainee<float> trainee(comm, "local_steps=2");
    trainee.steps().load_state(states[1 - index_of(comm)]);
  });
  CHECK(mentions(failure_in(outcomes[0]), "the state of rank 1 of 2, not of rank 0 of 2"));
  const auto others = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    Trainee<float> trainee(comm, "local_steps=3");
    trainee.steps().load_state(states[index_of(comm)]);
  });
  CHECK(mentions(failure_in(others[1]), "a state of local_steps=2"));
  const auto fewer = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> one(3);
    Multistep steps(comm, multistep_settings("local_steps=2"));
    steps.add({.name = "t0", .shape = {3}}, std::as_writable_bytes(std::span(one)));
    steps.begin();
    steps.load_state(states[index_of(comm)]);
  });
  CHECK(mentions(failure_in(fewer[0]), "other tensors"));
}

TEST_CASE("the state of a job with more or fewer ranks is refused, and nothing changes") {
  for (const std::string mode : {"accumulate=3", "local_steps=3", "delay=1"}) {
    auto three = communicators_in_process(3, 20s);
    std::vector<std::vector<std::byte>> states(3);
    run_ranks(three, [&](Communicator& comm) {
      Trainee<float> trainee(comm, mode);
      trainee.train({.batches = {2, 2, 2}}, 2);
      states[index_of(comm)] = trainee.steps().saved_state();
    });
    auto two = communicators_in_process(2, 20s);
    std::vector<std::string> sentences(2);
    std::vector<char> has_changed(2);
    run_ranks(two, [&](Communicator& comm) {
      const std::size_t rank = index_of(comm);
      Trainee<float> trainee(comm, mode);
      const std::vector<std::byte> before = trainee.steps().saved_state();
      sentences[rank] = failure_of([&] { trainee.steps().load_state(states[rank]); }).what();
      has_changed[rank] = trainee.steps().saved_state() == before ? 0 : 1;
    });
    for (const std::size_t rank : {0U, 1U}) {
      const std::string number = std::to_string(rank);
      CHECK(sentences[rank] == "multistep: this is the state of rank " + number +
                                   " of 3, not of rank " + number + " of 2");
      CHECK(has_changed[rank] == 0);
    }
  }
}

TEST_CASE("a state that is damaged anywhere is refused, and nothing has changed") {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = {.id = CodecId::one_bit};
  settings.small = {1};
  for (const std::string mode : {"accumulate=3", "diloco=3", "slices=3"}) {
    auto ranks = communicators_in_process(1, 20s);
    Trainee<float> trainee(ranks[0], mode, settings);
    const Training training{.batches = {9}};
    trainee.train(training, 4);
    const std::vector<std::byte> earlier = trainee.steps().saved_state();
    trainee.train(training, 8);
    const std::vector<std::byte> now = trainee.steps().saved_state();
    for (std::size_t at = 0; at < 8 * earlier.size(); at += 13) {
      std::vector<std::byte> flipped = earlier;
      flipped[at / 8] ^= std::byte{1} << at % 8;
      CAPTURE(mode);
      CAPTURE(at);
      const Error error = failure_of([&] { trainee.steps().load_state(flipped); });
      CHECK(error.kind() == ErrorKind::usage);
      REQUIRE(trainee.steps().saved_state() == now);
    }
    trainee.steps().load_state(earlier);
    CHECK(trainee.steps().saved_state() == earlier);
  }
}

TEST_CASE("a rank that continues another checkpoint is named before rounds are mixed up") {
  for (const std::string mode : {"accumulate=2", "local_steps=2", "delay=1", "slices=2"}) {
    auto ranks = communicators_in_process(3, 20s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      const Training training{.batches = {8, 8, 8}};
      Trainee<float> first(comm, mode);
      first.train(training, 4);
      const std::vector<std::byte> state = first.steps().saved_state();
      first.train(training, 8);
      first.finish();
      Trainee<float> second(comm, mode);
      if (comm.rank() != Rank{1}) second.steps().load_state(state);  // Its file is missing.
      second.train(training, 8);
    });
    CAPTURE(mode);
    for (const auto& outcome : outcomes) {
      const Error error = failure_in(outcome);
      CHECK(error.kind() == ErrorKind::usage);
      CHECK_MESSAGE(mentions(error, "rank 1 continues in round 0, and rank 0 in round"),
                    error.what());
    }
  }
}

TEST_CASE("a training that is over has a state, from which it goes on") {
  for (const char* mode : {"accumulate=2", "local_steps=2", "delay=1", "slices=2"}) {
    auto ranks = communicators_in_process(1, 5s);
    Multistep steps(ranks[0], multistep_settings(mode));
    std::vector<float> values(3);
    steps.add({.name = "w", .shape = {3}}, std::as_writable_bytes(std::span(values)));
    steps.begin();
    steps.step();
    while (!steps.finish().is_over) {
    }
    const std::vector<std::byte> state = steps.saved_state();
    CHECK(state.size() == steps.saved_bytes());
    CHECK(mentions(failure_of([&] { steps.step(); }), "all ranks have finished"));
    steps.load_state(state);
    CHECK_FALSE(steps.step().is_over);
    while (!steps.finish().is_over) {
    }
    CHECK(steps.saved_state().size() == state.size());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
