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

/// What is trained, and how.
struct Recipe {
  std::vector<std::size_t> hidden{};  ///< Widths between the pixels and the classes.
  float learning_rate = 0;            ///< Of the first epoch; it falls to almost nothing.
};

struct Epoch {
  std::size_t number = 0;   ///< From 1.
  double loss = 0;          ///< Mean over the training set, as met during the epoch.
  double accuracy = 0;      ///< Of the test set, 0 to 1.
  Seconds since_start{};    ///< At its end.
  std::uint64_t bytes = 0;  ///< Of gradients that this rank has sent into all-reduces until then.
};

struct Result {
  std::vector<Epoch> epochs;
  std::vector<std::uint64_t> hashes;  ///< Of every rank's parameters.
  fgc_type wire = FGC_FLOAT32;        ///< Of the first gradient.
};

/// Half-open.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The part of `whole` that falls to one rank. The parts are disjoint, cover the whole, and differ
/// in length by at most one.
Range share_of(Range whole, int rank, int ranks);

/// Runs on every rank alike; `finished` is told each epoch.
Result train(fgc::Communicator& comm, const Recipe& recipe, const Options& options,
             const Split& data, const std::function<void(const Epoch&)>& finished);

}  // namespace training
