// A model whose gradients a codec encodes, and the trainings of it that every codec must stand.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "comm/gradients/saved_gradients.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::test {

using Numbers = std::vector<float>;
using GradientShape = std::vector<std::uint64_t>;

/// The ranks of a job and their nodes.
struct RanksOnNodes {
  int ranks = 1;
  int ranks_per_node = 1;
};

/// The gradients of a model.
struct ModelGradients {
  std::vector<GradientShape> shapes;
  /// The numbers that a rank gives in a step, one gradient after the other.
  std::function<Numbers(int rank, int step)> numbers;
};

inline std::size_t count_of(const GradientShape& shape) {
  std::size_t count = 1;
  for (const std::uint64_t length : shape)
    count *= length;
  return count;
}

inline std::size_t count_of(const ModelGradients& gradients) {
  std::size_t sum = 0;
  for (const GradientShape& shape : gradients.shapes)
    sum += count_of(shape);
  return sum;
}

/// One rank's gradients "g0", "g1" ... and their exchange.
class CodedModel {
 public:
  /// Borrows all but the settings.
  CodedModel(const ModelGradients& gradients, comm::Communicator& comm,
             const comm::GradientSettings& settings, comm::GradientEvents* events = nullptr)
      : gradients_(gradients), comm_(comm), exchange_(comm, settings, events) {
    for (const GradientShape& shape : gradients.shapes) {
      const std::string name = "g" + std::to_string(values_.size());
      values_.emplace_back(count_of(shape));
      exchange_.add({.name = name, .shape = shape},
                    std::as_writable_bytes(std::span(values_.back())));
    }
  }

  void fill(int step) {
    const Numbers all = gradients_.numbers(comm_.rank().value, step);
    auto from = all.begin();
    for (Numbers& each : values_) {
      std::copy_n(from, each.size(), each.begin());
      from += static_cast<std::ptrdiff_t>(each.size());
    }
  }

  comm::StepOutcome exchange_now() {
    for (std::size_t i = values_.size(); i > 0; --i)
      exchange_.ready({i - 1});
    return exchange_.wait_step();
  }

  comm::StepOutcome step(int number) {
    fill(number);
    return exchange_now();
  }

  comm::GradientExchange& exchange() { return exchange_; }
  std::vector<Numbers>& values() { return values_; }

  /// Returns the values, one gradient after the other.
  Numbers joined() const {
    Numbers all;
    for (const Numbers& each : values_)
      all.insert(all.end(), each.begin(), each.end());
    return all;
  }

  /// Returns the residuals of this rank, one gradient after the other.
  Numbers residuals() {
    comm::CodecState state;
    const std::vector<std::byte> saved = exchange_.saved_state();
    state.load(comm::decode_gradients(saved).codec, exchange_.table(), comm_.rank(), comm_.size());
    Numbers all;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      Numbers of(values_[i].size());
      state.add_to({i}, 0, of);
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }

 private:
  const ModelGradients& gradients_;
  comm::Communicator& comm_;
  std::vector<Numbers> values_;
  comm::GradientExchange exchange_;
};

/// A training whose results are sums.
struct CodedRun {
  std::vector<std::vector<Numbers>> results;  ///< By rank and step.
  std::vector<Numbers> residuals;             ///< By rank, after the last step.

  const std::vector<Numbers>& of_rank_0() const { return results.front(); }
  bool is_equal_everywhere() const {
    return std::ranges::all_of(results, [&](const auto& rank) { return rank == results.front(); });
  }

  /// Returns the largest difference between the sum of all that was given, and that of results and
  /// residuals.
  double lost(const ModelGradients& gradients) const {
    std::vector<double> rest(count_of(gradients));
    const auto add = [&](const Numbers& numbers, double factor) {
      for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] += factor * static_cast<double>(numbers[i]);
    };
    for (std::size_t step = 0; step < of_rank_0().size(); ++step) {
      for (std::size_t rank = 0; rank < results.size(); ++rank)
        add(gradients.numbers(static_cast<int>(rank), static_cast<int>(step)), 1);
      add(of_rank_0()[step], -1);
    }
    for (const Numbers& residual : residuals)
      add(residual, -1);
    double most = 0;
    for (const double each : rest)
      most = std::max(most, std::abs(each));
    return most;
  }
};

using BeforeStep = std::function<void(CodedModel&, int step)>;

inline CodedRun run_model(const ModelGradients& gradients, const RanksOnNodes& cluster,
                          const comm::GradientSettings& settings, int steps,
                          const BeforeStep& before_step = {}) {
  auto ranks = communicators_in_process(cluster.ranks, std::chrono::seconds(20),
                                        comm::SharedMemory::on, 1, cluster.ranks_per_node);
  CodedRun run{.results = std::vector<std::vector<Numbers>>(ranks.size()),
               .residuals = std::vector<Numbers>(ranks.size())};
  run_ranks(ranks, [&](comm::Communicator& comm) {
    CodedModel model(gradients, comm, settings);
    model.exchange().use_operation(comm::ReduceOp::sum);
    for (int step = 0; step < steps; ++step) {
      if (before_step) before_step(model, step);
      model.step(step);
      run.results[index_of(comm)].push_back(model.joined());
    }
    run.residuals[index_of(comm)] = model.residuals();
  });
  return run;
}

/// Returns a BeforeStep that puts an operation which is not encoded before step 2, and before step
/// 4 one that is skipped for a NaN in this gradient.
inline BeforeStep disturbed_at(std::size_t gradient) {
  return [gradient](CodedModel& model, int step) {
    if (step == 2) {
      model.exchange().use_operation(comm::ReduceOp::max);
      model.step(100);
      model.exchange().use_operation(comm::ReduceOp::sum);
    }
    if (step != 4) return;
    model.fill(50);
    model.values()[gradient][17] = std::numeric_limits<float>::quiet_NaN();
    if (model.exchange_now().is_applied) throw std::logic_error("a step with NaN was applied");
  };
}

/// Returns true if a training by four ranks on two nodes goes on from its states after `before`
/// steps to the last bit as one that was not interrupted.
inline bool resumes_exactly(const ModelGradients& gradients, const comm::GradientSettings& settings,
                            int before, int steps) {
  constexpr int kRanks = 4;
  std::vector<std::vector<std::byte>> saved(kRanks);
  std::vector<std::vector<Numbers>> uninterrupted(kRanks), resumed(kRanks);
  auto ranks = communicators_in_process(kRanks, std::chrono::seconds(10), comm::SharedMemory::on, 1,
                                        kRanks / 2);
  run_ranks(ranks, [&](comm::Communicator& comm) {
    const std::size_t self = index_of(comm);
    CodedModel model(gradients, comm, settings);
    for (int step = 0; step < steps; ++step) {
      if (step == before) saved[self] = model.exchange().saved_state();
      model.step(step);
      if (step >= before) uninterrupted[self].push_back(model.joined());
    }
  });
  run_ranks(ranks, [&](comm::Communicator& comm) {
    const std::size_t self = index_of(comm);
    CodedModel model(gradients, comm, settings);
    model.exchange().load_state(saved[self]);
    for (int step = before; step < steps; ++step) {
      model.step(step);
      resumed[self].push_back(model.joined());
    }
  });
  return resumed == uninterrupted;
}

/// A number that is not finite is reported with its place, reaches all ranks, and is forgotten
/// after its step. The gradient has more than 1234 elements.
inline void check_non_finite_is_named(const ModelGradients& gradients,
                                      comm::GradientSettings settings, std::size_t gradient,
                                      float bad) {
  settings.non_finite = comm::NonFiniteAction::warn;
  auto ranks = communicators_in_process(4, std::chrono::seconds(10), comm::SharedMemory::on, 1, 2);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](comm::Communicator& comm) {
    Sentences sentences;
    CodedModel model(gradients, comm, settings, &sentences);
    model.fill(0);
    if (comm.rank() == comm::Rank{2}) model.values()[gradient][1234] = bad;
    model.exchange_now();
    std::string& failure = failures[index_of(comm)];
    const std::string expected = "step 0: gradient 'g" + std::to_string(gradient) +
                                 "' of rank 2 has " + (std::isnan(bad) ? "NaN" : "infinity") +
                                 " at index 1234";
    const std::size_t times = comm.rank() == comm::Rank{2} ? 1 : 0;
    if (sentences.all != std::vector<std::string>(times, expected))
      failure = "reports: " + std::to_string(sentences.all.size());
    if (std::isfinite(model.values()[gradient][1234])) failure = "lost";
    model.step(1);
    if (!std::ranges::all_of(model.joined(), [](float each) { return std::isfinite(each); }))
      failure = "remembered";
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

/// Gradients of 16 bits, and those that the exchange has in memory of its own, are averaged in
/// float32.
inline void check_float32_on_wire(const comm::GradientSettings& settings,
                                  const GradientShape& half_shape, const GradientShape& view_shape,
                                  float tolerance) {
  auto ranks = communicators_in_process(2, std::chrono::seconds(10));
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](comm::Communicator& comm) {
    comm::GradientExchange exchange(comm, settings);
    std::vector<comm::Float16> half(count_of(half_shape));
    exchange.add({.name = "half", .type = comm::ElementType::float16, .shape = half_shape},
                 std::as_writable_bytes(std::span(half)));
    const comm::GradientId view = exchange.add({.name = "view", .shape = view_shape}, {});
    std::string& failure = failures[index_of(comm)];
    if (exchange.wire_type({0}) != comm::ElementType::float32) failure = "type";
    for (int step = 0; step < 3; ++step) {
      const Numbers mine(count_of(view_shape), static_cast<float>(comm.rank().value));
      std::memcpy(exchange.view(view).data(), mine.data(), mine.size() * sizeof(float));
      half.assign(half.size(), comm::to_float16(2));
      exchange.ready({0});
      exchange.ready(view);
      exchange.wait_step();
      float got = 0;
      std::memcpy(&got, exchange.view(view).data(), sizeof(got));
      if (std::abs(got - 0.5F) > 1e-5F) failure = "view " + std::to_string(got);
      if (std::abs(comm::to_float(half[7]) - 2) > tolerance) failure = "half";
    }
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

/// All of three ranks name rank 2, which has other settings, before anything is sent.
inline void check_other_codec_is_named(const ModelGradients& gradients,
                                       const comm::GradientSettings& usual,
                                       const comm::GradientSettings& other) {
  auto ranks = communicators_in_process(3, std::chrono::seconds(5));
  const auto outcomes = outcomes_of_ranks(ranks, [&](comm::Communicator& comm) {
    CodedModel(gradients, comm, comm.rank() == comm::Rank{2} ? other : usual).step(0);
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "rank 2 has FASTGPU_COMM_WIRE '"));
}

/// The other two of three ranks name rank 1, which goes between two steps.
inline void check_leaver_between_steps_is_named(const ModelGradients& gradients,
                                                const comm::GradientSettings& settings) {
  auto own =
      able_to_leave(communicators_in_process(3, std::chrono::seconds(5), comm::SharedMemory::off));
  const auto outcomes = outcomes_of_ranks(own, [&](std::optional<comm::Communicator>& comm) {
    {
      CodedModel model(gradients, *comm, settings);
      const int steps = comm->rank() == comm::Rank{1} ? 3 : 1000;
      for (int step = 0; step < steps; ++step)
        model.step(step);
    }
    comm.reset();
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 1"));
  CHECK(mentions(failure_in(outcomes[2]), "rank 1"));
}

}  // namespace fastgpu::test
