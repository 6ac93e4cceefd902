// Multistep training by several ranks, held against the same training in float64 by one program
// that knows all of them.
#include "comm/multistep/multistep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_SUITE_BEGIN("comm/multistep");

constexpr double kLearningRate = 0.1;
const std::vector<std::size_t> kTensorLengths{7, 1, 0, 33, 12};

/// The batches of all ranks: the gradient of each depends on the parameters that it is computed at.
struct Training {
  std::vector<int> batches{};  ///< By rank.
  bool has_weights = false;    ///< Batches have samples of different numbers.

  double weight(std::size_t rank, int batch) const {
    return has_weights ? 1 + static_cast<double>((rank * 5 + static_cast<std::size_t>(batch)) % 4)
                       : 1;
  }
  static double gradient(std::size_t rank, int batch, std::size_t i, double parameter) {
    return 0.5 * parameter +
           std::sin(static_cast<double>(i) + 3 * static_cast<double>(rank) + 0.7 * batch);
  }
  static double begin(std::size_t i) { return std::cos(static_cast<double>(i)); }
};

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

/// One rank of a training by Multistep.
template <class T>
class Trainee {
 public:
  Trainee(Communicator& comm, const std::string& mode, const GradientSettings& settings = {})
      : rank_(index_of(comm)), steps_(comm, multistep_settings(mode), settings) {
    for (std::size_t t = 0; t < kTensorLengths.size(); ++t) {
      parameters_.emplace_back(kTensorLengths[t]);
      gradients_.emplace_back(kTensorLengths[t]);
    }
    std::size_t i = 0;
    for (auto& tensor : parameters_)
      for (T& each : tensor)  // Other ranks begin elsewhere where parameters become rank 0's.
        each = static_cast<T>(Training::begin(i++) + (has_gradients() || rank_ == 0 ? 0 : 5));
    for (std::size_t t = 0; t < kTensorLengths.size(); ++t) {
      std::vector<T>& memory = has_gradients() ? gradients_[t] : parameters_[t];
      steps_.add(
          {.name = "t" + std::to_string(t), .type = kElementType<T>, .shape = {kTensorLengths[t]}},
          std::as_writable_bytes(std::span(memory)));
    }
    steps_.begin();
  }

  /// Makes steps up to that batch; calls `finish` to the end if it is the last.
  void train(const Training& training, int until) {
    for (; batch_ < until; ++batch_) {
      compute();
      if (!has_gradients()) apply();
      if (training.has_weights) steps_.weigh(training.weight(rank_, batch_));
      if (has_gradients() && batch_ % 2 == 0) {
        std::jthread other([this] { steps_.ready(3); });
        steps_.ready(0);
      }
      take(steps_.step());
    }
  }
  void finish() {
    for (bool is_over = false; !is_over;) {
      const MultistepOutcome outcome = steps_.finish();
      take(outcome);
      is_over = outcome.is_over;
    }
  }

  std::vector<T> parameters() const {
    std::vector<T> all;
    for (const auto& tensor : parameters_)
      all.insert(all.end(), tensor.begin(), tensor.end());
    return all;
  }
  std::size_t rounds() const noexcept { return rounds_; }
  Multistep& steps() noexcept { return steps_; }
  std::vector<std::vector<T>>& gradients() noexcept { return gradients_; }

  /// What a checkpoint has beside the state of `steps`.
  std::pair<std::vector<std::vector<T>>, int> saved() const { return {parameters_, batch_}; }
  void load(const std::pair<std::vector<std::vector<T>>, int>& saved) {
    for (std::size_t t = 0; t < parameters_.size(); ++t)
      std::ranges::copy(saved.first[t], parameters_[t].begin());
    batch_ = saved.second;
  }

 private:
  bool has_gradients() const { return averages_gradients(steps_.mode().mode); }

  /// As a framework does that adds to gradients.
  void compute() {
    std::size_t i = 0;
    for (std::size_t t = 0; t < kTensorLengths.size(); ++t)
      for (std::size_t k = 0; k < kTensorLengths[t]; ++k, ++i)
        gradients_[t][k] += static_cast<T>(
            Training::gradient(rank_, batch_, i, static_cast<double>(parameters_[t][k])));
  }
  void apply() {
    for (std::size_t t = 0; t < kTensorLengths.size(); ++t)
      for (std::size_t k = 0; k < kTensorLengths[t]; ++k) {
        parameters_[t][k] -= static_cast<T>(kLearningRate) * gradients_[t][k];
        gradients_[t][k] = 0;
      }
  }
  void take(const MultistepOutcome& outcome) {
    if (outcome.is_round_end) ++rounds_;
    if (has_gradients() && outcome.has_results) apply();
  }

  std::size_t rank_;
  Multistep steps_;
  std::vector<std::vector<T>> parameters_;
  std::vector<std::vector<T>> gradients_;
  int batch_ = 0;
  std::size_t rounds_ = 0;
};

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

const std::vector<std::string> kAllModes = {"accumulate=1",
                                            "accumulate=4",
                                            "local_steps=1",
                                            "local_steps=3",
                                            "local_steps=4,warmup=3",
                                            "diloco=3,rate=0.7,momentum=0.9",
                                            "diloco=2,warmup=2,momentum=0",
                                            "delay=1",
                                            "slices=1",
                                            "slices=3",
                                            "slices=9,rate=0.9,momentum=0.3"};

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

TEST_CASE("training goes on bit by bit from a saved state, wherever it was saved") {
  for (const std::string& mode : kAllModes)
    for (const int until : {3, 4}) {
      const Training training{.batches = {9, 11}, .has_weights = true};
      auto ranks = communicators_in_process(2, 20s);
      std::vector<std::string> wrong(ranks.size());
      run_ranks(ranks, [&](Communicator& comm) {
        const std::size_t rank = index_of(comm);
        Trainee<float> first(comm, mode);
        first.train(training, until);
        const std::vector<std::byte> state = first.steps().saved_state();
        const auto saved = first.saved();
        first.train(training, training.batches[rank]);
        first.finish();
        Trainee<float> second(comm, mode);
        second.load(saved);
        second.steps().load_state(state);
        second.train(training, training.batches[rank]);
        second.finish();
        if (first.parameters() != second.parameters()) wrong[rank] = "other parameters";
      });
      CAPTURE(mode);
      CHECK(wrong == std::vector<std::string>(ranks.size()));
    }
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
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
