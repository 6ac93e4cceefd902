// Multistep training by several ranks, held against the same training in float64 by one program
// that knows all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/multistep/multistep.hpp"
#include "comm/multistep/outer_step.hpp"
#include "support/connect_in_process.hpp"
#include "support/gradient_steps.hpp"
#include "support/multistep_trainee.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::index_of;
using test::kAllModes;
using test::kLearningRate;
using test::kTensorLengths;
using test::run_ranks;
using test::Trainee;
using test::Training;

TEST_SUITE_BEGIN("comm/multistep/training");

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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
