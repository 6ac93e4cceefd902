// Data-parallel training: every rank computes its share of each batch, and all take the same step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fastgpu_comm.hpp>
#include <functional>
#include <vector>

#include "dataset.hpp"
#include "options.hpp"

namespace training {

using Seconds = std::chrono::duration<double>;

/// The trained model and its schedule.
struct TrainingRecipe {
  std::vector<std::size_t> hidden{};  ///< Widths between the pixels and the classes.
  float learning_rate = 0;            ///< The rate of the first epoch; it falls to almost nothing.
};

struct Epoch {
  std::size_t number = 0;  ///< Counted from 1.
  double loss = 0;         ///< Mean over the training set, as met during the epoch.
  double accuracy = 0;     ///< The share of right answers in the test set, 0 to 1.
  Seconds since_start{};   ///< The time at the epoch's end.
  /// Bytes of gradients that this rank has sent into all-reduces until then.
  std::uint64_t bytes = 0;
};

struct TrainingResult {
  std::vector<Epoch> epochs;
  std::vector<std::uint64_t> hashes;  ///< The hash of every rank's parameters.
  fgc_type wire = FGC_FLOAT32;        ///< The type of the first gradient.
};

/// A half-open range.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns the part of `whole` for one rank. The parts are disjoint, cover the whole, and differ in
/// length by at most one.
Range share_of(Range whole, int rank, int ranks);

/// Trains on every rank alike; `finished` is called for each epoch.
TrainingResult train(fgc::Communicator& comm, const TrainingRecipe& recipe,
                     const TrainingOptions& options, const Split& data,
                     const std::function<void(const Epoch&)>& finished);

}  // namespace training
