// Multistep training by several ranks, held against the same training in float64 by one program
// that knows all of them.
#include "comm/multistep/multistep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
using test::kLearningRate;
using test::kTensorLengths;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::Trainee;
using test::Training;

TEST_SUITE_BEGIN("comm/multistep");

std::size_t all_elements() {
  std::size_t sum = 0;
  for (const std::size_t length : kTensorLengths)
    sum += length;
  return sum;
}

/// The slice of each element.
std::vector<std::uint32_t> slice_of_elements(std::uint32_t slices) {
  std::vector<std::size_t> bytes;
  for (const std::size_t length : kTensorLengths)
    bytes.push_back(length * sizeof(float));
  const std::vector<std::uint32_t> of = slices_of_tensors(bytes, slices);
  std::vector<std::uint32_t> all;
  for (std::size_t t = 0; t < kTensorLengths.size(); ++t)
    all.insert(all.end(), kTensorLengths[t], of[t]);
  return all;
}

using Reals = std::vector<double>;

Reals initial_parameters() {
  Reals parameters(all_elements());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] = Training::begin(i);
  return parameters;
}

void descend(Reals& parameters, const Reals& gradient) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i] -= kLearningRate * gradient[i];
}

/// Adds the gradients of one round, and returns their weight.
double add_gradients(Reals& sum, const Training& training, const Reals& parameters, int first,
                     int last) {
  double weight = 0;
  for (std::size_t r = 0; r < training.batches.size(); ++r)
    for (int b = first; b < std::min(last, training.batches[r]); ++b) {
      weight += training.weight(r, b);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += training.weight(r, b) * Training::gradient(r, b, i, parameters[i]);
    }
  return weight;
}

Reals mean_gradient(const Training& training, const Reals& parameters, int first, int last) {
  Reals sum(parameters.size());
  const double weight = add_gradients(sum, training, parameters, first, last);
  for (double& each : sum)
    each = weight > 0 ? each / weight : 0;
  return sum;
}

/// accumulate=N.
Reals accumulated(const Training& training, const MultistepSettings& mode) {
  Reals parameters = initial_parameters();
  const int most = *std::ranges::max_element(training.batches);
  const int steps = static_cast<int>(mode.steps);
  for (int first = 0; first < most; first += steps)
    descend(parameters, mean_gradient(training, parameters, first, first + steps));
  return parameters;
}

/// delay=1.
Reals delayed(const Training& training, const MultistepSettings&) {
  Reals parameters = initial_parameters();
  Reals before(parameters.size());
  const int most = *std::ranges::max_element(training.batches);
  for (int step = 0; step < most; ++step) {
    const Reals now = mean_gradient(training, parameters, step, step + 1);
    descend(parameters, before);
    before = now;
  }
  descend(parameters, before);
  return parameters;
}

/// All ranks of a training whose parameters are averaged: local_steps=H, diloco=H and slices=S.
class AllRanks {
 public:
  AllRanks(const Training& training, const MultistepSettings& mode)
      : training_(training),
        mode_(mode),
        slices_(mode.mode == MultistepMode::slices ? mode.steps : 1),
        slice_of_(slice_of_elements(slices_)),
        anchor_(initial_parameters()),
        velocity_(anchor_.size()),
        own_(training.batches.size(), anchor_),
        weights_(training.batches.size(), Reals(slices_)),
        done_(training.batches.size()) {}

  Reals trained() {
    std::uint64_t end = slices_;
    for (std::uint64_t round = 0; round < end; ++round) {
      if (done_ != training_.batches) end = round + 1 + slices_;
      play(round);
    }
    return anchor_;
  }

 private:
  void play(std::uint64_t round) {
    const std::uint32_t slice = slice_of_round(mode_, round);
    Reals moved(anchor_.size());
    double weight = 0;
    for (std::size_t r = 0; r < own_.size(); ++r) {
      for (std::uint32_t s = 0; s < steps_of_round(mode_, round); ++s)
        step(r);
      const double mine = std::exchange(weights_[r][slice], 0);
      weight += mine;
      for (std::size_t i = 0; i < moved.size(); ++i)
        moved[i] += mine * (anchor_[i] - own_[r][i]);
    }
    for (std::size_t i = 0; i < moved.size() && weight > 0; ++i)
      if (slice_of_[i] == slice) move(i, moved[i] / weight, round >= mode_.warmup);
  }

  void step(std::size_t rank) {
    const int batch = done_[rank];
    if (batch == training_.batches[rank]) return;
    ++done_[rank];
    for (double& each : weights_[rank])
      each += training_.weight(rank, batch);
    Reals gradient(anchor_.size());
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = Training::gradient(rank, batch, i, own_[rank][i]);
    descend(own_[rank], gradient);
  }

  void move(std::size_t i, double difference, bool has_outer) {
    double direction = difference;
    if (has_outer && mode_.momentum > 0) {
      velocity_[i] = mode_.momentum * velocity_[i] + difference;
      direction += mode_.momentum * velocity_[i];
    }
    anchor_[i] -= (has_outer ? mode_.rate : 1) * direction;
    for (Reals& each : own_)
      each[i] = anchor_[i];
  }

  const Training& training_;
  MultistepSettings mode_;
  std::uint32_t slices_;
  std::vector<std::uint32_t> slice_of_;
  Reals anchor_;
  Reals velocity_;
  std::vector<Reals> own_;
  std::vector<Reals> weights_;  ///< By rank and slice.
  std::vector<int> done_;       ///< Batches, by rank.
};

Reals averaged_in_rounds(const Training& training, const MultistepSettings& mode) {
  return AllRanks(training, mode).trained();
}

using Reference = std::function<Reals(const Training&, const MultistepSettings&)>;

Reference reference_of(MultistepMode mode) {
  if (mode == MultistepMode::accumulate) return accumulated;
  return mode == MultistepMode::delay ? Reference(delayed) : Reference(averaged_in_rounds);
}

template <class T>
void check_training(const std::string& mode, const Training& training, double tolerance,
                    const GradientSettings& settings = {}) {
  CAPTURE(mode);
  CAPTURE(training.batches.size());
  const MultistepSettings parsed = multistep_settings(mode);
  auto ranks = communicators_in_process(static_cast<int>(training.batches.size()), 20s);
  std::vector<std::vector<T>> found(ranks.size());
  std::vector<std::size_t> rounds(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    Trainee<T> trainee(comm, mode, settings);
    trainee.train(training, training.batches[index_of(comm)]);
    trainee.finish();
    found[index_of(comm)] = trainee.parameters();
    rounds[index_of(comm)] = trainee.rounds();
  });
  const Reals wanted = reference_of(parsed.mode)(training, parsed);
  for (std::size_t r = 0; r < found.size(); ++r) {
    CHECK_MESSAGE(found[r] == found[0], "rank " << r << " has other parameters in the end");
    CHECK(rounds[r] == rounds[0]);
  }
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(found[0][i]) - wanted[i]));
  CHECK(worst <= tolerance);
}

TEST_CASE("every mode trains as its reference, with even batches") {
  for (const std::string& mode : kAllModes)
    for (const std::size_t ranks : {1, 2, 3, 4})
      check_training<float>(mode, {.batches = std::vector<int>(ranks, 12)}, 2e-5);
}

TEST_CASE("ranks with fewer batches hold no other up, and all end with the same parameters") {
  for (const std::string& mode : kAllModes) {
    check_training<float>(mode, {.batches = {13, 6}}, 2e-5);
    check_training<float>(mode, {.batches = {0, 7, 12, 1}, .has_weights = true}, 2e-5);
    check_training<float>(mode, {.batches = {0, 0}}, 2e-5);
  }
}

TEST_CASE("float64 is averaged_in_rounds in float64") {
  for (const std::string& mode : kAllModes)
    check_training<double>(mode, {.batches = {9, 11, 4}, .has_weights = true}, 1e-12);
}

TEST_CASE("random batches and weights on random numbers of ranks agree with the reference") {
  std::mt19937 random(11);
  for (int game = 0; game < 40; ++game) {
    Training training{.has_weights = random() % 2 == 0};
    for (std::size_t r = 0, ranks = 1 + random() % 5; r < ranks; ++r)
      training.batches.push_back(static_cast<int>(random() % 20));
    GradientSettings settings;
    settings.bucket = {64 + random() % 400};
    CAPTURE(game);
    check_training<float>(kAllModes[random() % kAllModes.size()], training, 3e-5, settings);
  }
}

TEST_CASE("16-bit numbers on the wire change results by little, also in the last rounds") {
  GradientSettings settings;
  settings.wire = WireType::float16;
  settings.small = {1};
  for (const std::string& mode : kAllModes)
    check_training<float>(mode, {.batches = {8, 9, 3}}, 0.02, settings);
}

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

TEST_CASE("numbers that are not finite are named, and skip a round on all ranks") {
  for (const std::string mode : {"accumulate=2", "local_steps=2", "delay=1", "slices=1"}) {
    auto ranks = communicators_in_process(2, 20s);
    std::vector<std::vector<float>> found(2);
    std::vector<int> results(2);
    std::vector<int> named(2);
    run_ranks(ranks, [&](Communicator& comm) {
      GradientSettings settings;
      settings.non_finite = NonFiniteAction::skip;
      std::vector<float> values(5, 1);
      Multistep steps(comm, multistep_settings(mode), settings);
      steps.add({.name = "w", .shape = {5}}, std::as_writable_bytes(std::span(values)));
      steps.begin();
      for (int step = 0; step < 6; ++step) {
        const bool is_bad = comm.rank() == Rank{1} && step == 3;
        for (float& each : values)
          each = is_bad ? std::numeric_limits<float>::quiet_NaN() : each + 1;
        const MultistepOutcome outcome = steps.step();
        results[index_of(comm)] += outcome.has_results ? 1 : 0;
        if (outcome.non_finite && outcome.non_finite->rank == Rank{1}) ++named[index_of(comm)];
      }
      for (bool is_over = false; !is_over;) {
        const MultistepOutcome outcome = steps.finish();
        results[index_of(comm)] += outcome.has_results ? 1 : 0;
        is_over = outcome.is_over;
      }
      found[index_of(comm)] = values;
    });
    CAPTURE(mode);
    const bool has_round_a_step = mode == "delay=1" || mode == "slices=1";
    CHECK(results == std::vector<int>(2, has_round_a_step ? 5 : 2));
    CHECK(named == std::vector<int>(2, 1));
    for (const float each : found[0])
      CHECK(std::isfinite(each));
    CHECK(found[0] == found[1]);
  }
}

/// Makes steps with two tensors, one of which rank 1 leaves out, or takes without moving anything
/// and with next to no weight. Returns the sums that every rank has in the end, by rank, behind
/// where its rounds have ended.
std::vector<std::vector<double>> trained_without(const std::string& mode, int omitted,
                                                 bool leaves_out) {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<std::vector<double>> found(2);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<std::vector<double>> values(2, std::vector<double>(4));
    std::vector<double> sums(8);
    Multistep steps(comm, multistep_settings(mode));
    for (std::size_t t = 0; t < values.size(); ++t)
      steps.add({.name = std::to_string(t), .type = ElementType::float64, .shape = {4}},
                std::as_writable_bytes(std::span(values[t])));
    steps.begin();
    const auto take = [&](const MultistepOutcome& outcome) {
      found[index_of(comm)].push_back(outcome.is_round_end ? 1 : 0);
      if (!outcome.has_results || !averages_gradients(steps.mode().mode)) return outcome.is_over;
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += std::exchange(values[i / 4][i % 4], 0);
      return outcome.is_over;
    };
    for (int step = 0; step < 10; ++step) {
      const bool is_omitted = comm.rank() == Rank{1} && step == omitted;
      for (std::size_t i = 0; i < sums.size() && !is_omitted; ++i)
        values[i / 4][i % 4] += std::sin(static_cast<double>(i) + 7 * comm.rank().value + step);
      if (is_omitted && leaves_out && averages_gradients(steps.mode().mode))
        values[0][1] = std::numeric_limits<double>::quiet_NaN();
      if (is_omitted && !leaves_out) steps.weigh(1e-300);
      take(is_omitted && leaves_out ? steps.leave_out() : steps.step());
    }
    while (!take(steps.finish())) {
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      found[index_of(comm)].push_back(sums[i] + values[i / 4][i % 4]);
  });
  return found;
}

TEST_CASE("a step that is left out has no weight, and rounds end where they would with it") {
  for (const std::string& mode : kAllModes)
    for (const int omitted : {0, 4, 9}) {
      CAPTURE(mode);
      CAPTURE(omitted);
      const auto found = trained_without(mode, omitted, true);
      CHECK(found[0] == found[1]);
      CHECK(found == trained_without(mode, omitted, false));
    }
}

TEST_CASE("slices that are not finite go back together, and one round alone has no results") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<std::vector<float>> found(2);
  std::vector<int> lost(2);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(6, 1);
    Multistep steps(comm, multistep_settings("slices=3"), {.non_finite = NonFiniteAction::skip});
    for (std::size_t t = 0; t < 3; ++t)
      steps.add({.name = std::to_string(t), .shape = {2}},
                std::as_writable_bytes(std::span(values).subspan(2 * t, 2)));
    steps.begin();
    for (int step = 0; step < 9; ++step) {
      const bool is_bad = comm.rank() == Rank{1} && step == 4;
      for (float& each : values)
        each = is_bad ? std::numeric_limits<float>::quiet_NaN() : each + 1;
      if (!steps.step().has_results) ++lost[index_of(comm)];
      CHECK(std::ranges::all_of(values, [](float each) { return std::isfinite(each); }));
    }
    while (!steps.finish().is_over) {
    }
    found[index_of(comm)] = values;
  });
  CHECK(lost == std::vector{1, 1});
  CHECK(found[0] == found[1]);
  // Rank 1 has lost a step of the first slice and two of the last, with their weight; both ranks
  // have lost three of the second.
  const std::vector<double> wanted{5 + 13.0 / 5 + 2, 3 + 4, 4 + 10.0 / 4 + 3};
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(found[0][i] == doctest::Approx(wanted[i / 2]));
}

/// Keeps the warnings of a rank.
struct Heard final : GradientEvents {
  void warned(const std::string& sentence) override { sentences.push_back(sentence); }
  int count(const std::string& part) const {
    return static_cast<int>(std::ranges::count_if(sentences, [&](const std::string& sentence) {
      return sentence.find(part) != std::string::npos;
    }));
  }
  std::vector<std::string> sentences{};
};

TEST_CASE("all ranks hear of a rank whose steps come to nothing again and again") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<Heard> heard(3);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(3, 1);
    Multistep steps(comm, multistep_settings("local_steps=2"), {}, &heard[index_of(comm)]);
    steps.add({.name = "w", .shape = {3}}, std::as_writable_bytes(std::span(values)));
    steps.begin();
    for (int step = 0; step < 18; ++step) {
      // Rank 0 leaves out one step of each round, which is no news for others.
      const bool is_left_out = comm.rank() == Rank{1} || (comm.rank() == Rank{0} && step % 2 == 0);
      for (float& each : values)
        each += is_left_out ? 0 : 1;
      if (is_left_out)
        steps.leave_out();
      else
        steps.step();
    }
    CHECK(values[0] == doctest::Approx(1 + 9 * 5.0 / 3));  // (1 + 2 * 2) / (1 + 2) a round.
  });
  for (const Heard& each : heard) {
    CHECK(each.sentences.size() == 2);
    CHECK(each.count("rank 1 gave nothing to the last 3 rounds") == 1);
    CHECK(each.count("rank 1 gave nothing to the last 6 rounds") == 1);
  }
}

TEST_CASE("all ranks hear of rounds that are skipped again and again, and of the rank") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<Heard> heard(3);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(3, 1);
    Multistep steps(comm, multistep_settings("local_steps=1"),
                    {.non_finite = NonFiniteAction::skip}, &heard[index_of(comm)]);
    steps.add({.name = "w", .shape = {3}}, std::as_writable_bytes(std::span(values)));
    steps.begin();
    for (int step = 0; step < 8; ++step) {
      if (comm.rank() == Rank{1} && step != 4) values[1] = std::numeric_limits<float>::infinity();
      steps.step();
    }
  });
  for (const Heard& each : heard) {
    CHECK(each.count("the last 3 rounds were skipped") == 2);
    CHECK(each.count("rank 1 has numbers that are not finite") == 2);
  }
  CHECK(heard[0].sentences.size() == 2);
  CHECK(heard[1].count("the move of parameter 'w' of rank 1 has infinity at index 1") == 7);
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
