// The calls of multistep training: in which order, of which tensors, and which are refused.
#include "comm/multistep/multistep.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/kernels/element_type.hpp"
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
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::Trainee;

TEST_SUITE_BEGIN("comm/multistep");

TEST_CASE("a set may be freed while a round travels, and the job goes on") {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = {.id = CodecId::power_sgd, .thin = 1};
  settings.small = {1};
  settings.bucket = {4096};  // Each matrix has a bucket.
  auto ranks = communicators_in_process(3, 20s);
  std::vector<float> sums(3);
  const auto began = std::chrono::steady_clock::now();
  run_ranks(ranks, [&](Communicator& comm) {
    {
      Multistep steps(comm, multistep_settings("delay=1"), settings);
      std::vector<std::vector<float>> matrices(4, std::vector<float>(1024, 1));
      for (std::size_t i = 0; i < matrices.size(); ++i)
        steps.add({.name = "m" + std::to_string(i), .shape = {32, 32}},
                  std::as_writable_bytes(std::span(matrices[i])));
      steps.begin();
      steps.step();
      // The last rank to start the round finds that the others have sent their part of it.
      if (comm.rank() == Rank{2}) std::this_thread::sleep_for(100ms);
      steps.step();
    }
    float one = 1;
    comm.all_reduce(std::span(&one, 1), ReduceOp::sum);
    sums[index_of(comm)] = one;
  });
  CHECK(sums == std::vector<float>(3, 3));
  CHECK(std::chrono::steady_clock::now() - began < 3s);
}

TEST_CASE("ranks whose modes differ are told so before the first step") {
  struct Row {
    std::string usual;
    std::string odd;
    std::string sentence;
  };
  const Row rows[] = {
      {"accumulate=2", "accumulate=3",
       "multistep: rank 1 has the mode accumulate=3, and rank 0 accumulate=2"},
      {"local_steps=2", "diloco=2",
       "multistep: rank 1 has the mode diloco=2,warmup=0,rate=0.7,momentum=0.9, and rank 0 "
       "local_steps=2,warmup=0"},
      {"slices=2", "slices=3",
       "multistep: rank 1 has the mode slices=3,rate=1,momentum=0, and rank 0 "
       "slices=2,rate=1,momentum=0"}};
  for (const Row& row : rows) {
    auto ranks = communicators_in_process(3, 20s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      Trainee<float> trainee(comm, comm.rank() == Rank{1} ? row.odd : row.usual);
    });
    for (const auto& outcome : outcomes) {
      const Error error = failure_in(outcome);
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(std::string(error.what()) == row.sentence);
    }
  }
}

TEST_CASE("16-bit gradients are added in float32") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<float> found(2);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<BFloat16> gradient(1);
    Multistep steps(comm, multistep_settings("accumulate=256"));
    steps.add({.name = "w", .type = ElementType::bfloat16, .shape = {1}},
              std::as_writable_bytes(std::span(gradient)));
    steps.begin();
    for (int step = 0; step < 256; ++step) {
      // In bfloat16 a sum would stop at 256 times the first addend.
      gradient[0] = to_bfloat16(step == 0 ? 256.0F : 1.0F);
      steps.step();
    }
    found[index_of(comm)] = to_float(gradient[0]) * 256;
  });
  for (const float each : found)
    CHECK(each == doctest::Approx(511).epsilon(0.005));
}

TEST_CASE("what cannot be done is refused, and named") {
  auto ranks = communicators_in_process(1, 5s);
  std::vector<float> values(3);
  std::vector<std::int32_t> numbers(3);
  const auto bytes = std::as_writable_bytes(std::span(values));
  Multistep steps(ranks[0], multistep_settings("accumulate=2"));
  const auto refused = [](auto action, const char* words) {
    const Error error = failure_of(action);
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_MESSAGE(mentions(error, words), error.what());
  };
  refused([&] { steps.step(); }, "begin comes first");
  steps.add({.name = "w", .shape = {3}}, bytes);
  refused([&] { steps.add({.name = "w", .shape = {3}}, bytes); }, "'w' is added already");
  refused([&] { steps.add({.name = "v", .shape = {4}}, bytes); }, "memory of 12");
  refused(
      [&] {
        steps.add({.name = "n", .type = ElementType::int32, .shape = {3}},
                  std::as_writable_bytes(std::span(numbers)));
      },
      "floating-point");
  steps.begin();
  refused([&] { steps.begin(); }, "begin is called once");
  refused([&] { steps.add({.name = "v", .shape = {3}}, bytes); }, "before begin");
  refused([&] { steps.weigh(0); }, "above 0");
  refused([&] { steps.weigh(std::numeric_limits<double>::infinity()); }, "above 0");
  refused([&] { steps.ready(1); }, "no tensor number 1");
  steps.ready(0);
  refused([&] { steps.ready(0); }, "ready already");
  refused([&] { steps.weigh(2); }, "before its gradients are ready");
  refused([&] { steps.finish(); }, "call step before finish");
  refused([&] { steps.saved_state(); }, "between steps");
  CHECK_FALSE(steps.step().is_round_end);
  CHECK(steps.finish().is_over);
  refused([&] { steps.step(); }, "all ranks have finished");
  refused([&] { steps.finish(); }, "all ranks have finished");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
