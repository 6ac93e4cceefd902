// A small training by Multistep, one rank of it: the common part of the tests of multistep
// training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/multistep/multistep.hpp"
#include "support/gradient_steps.hpp"

namespace fastgpu::test {

inline constexpr double kLearningRate = 0.1;
inline const std::vector<std::size_t> kTensorLengths{7, 1, 0, 33, 12};

inline const std::vector<std::string> kAllModes = {"accumulate=1",
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

/// One rank of a training by Multistep.
template <class T>
class Trainee {
 public:
  Trainee(comm::Communicator& comm, const std::string& mode,
          const comm::GradientSettings& settings = {})
      : rank_(index_of(comm)), steps_(comm, comm::multistep_settings(mode), settings) {
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
      steps_.add({.name = "t" + std::to_string(t),
                  .type = comm::kElementType<T>,
                  .shape = {kTensorLengths[t]}},
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
      const comm::MultistepOutcome outcome = steps_.finish();
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
  comm::Multistep& steps() noexcept { return steps_; }
  std::vector<std::vector<T>>& gradients() noexcept { return gradients_; }

  /// The part of a checkpoint beside the state of `steps`.
  std::pair<std::vector<std::vector<T>>, int> saved() const { return {parameters_, batch_}; }
  void load(const std::pair<std::vector<std::vector<T>>, int>& saved) {
    for (std::size_t t = 0; t < parameters_.size(); ++t)
      std::ranges::copy(saved.first[t], parameters_[t].begin());
    batch_ = saved.second;
  }

 private:
  bool has_gradients() const { return comm::averages_gradients(steps_.mode().mode); }

  /// Adds a gradient to what is there, as frameworks do.
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
  void take(const comm::MultistepOutcome& outcome) {
    if (outcome.is_round_end) ++rounds_;
    if (has_gradients() && outcome.has_results) apply();
  }

  std::size_t rank_;
  comm::Multistep steps_;
  std::vector<std::vector<T>> parameters_;
  std::vector<std::vector<T>> gradients_;
  int batch_ = 0;
  std::size_t rounds_ = 0;
};

}  // namespace fastgpu::test
