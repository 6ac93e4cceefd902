// Data-parallel training: every rank computes its share of each batch, and all take the same step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "dataset.hpp"
#include "job.hpp"
#include "mlp.hpp"
#include "options.hpp"

namespace digits {

using Seconds = std::chrono::duration<double>;

struct Epoch {
  std::size_t number = 0;  ///< From 1.
  double loss = 0;         ///< Mean over the training set, as met during the epoch.
  double accuracy = 0;     ///< Of the test set, 0 to 1.
  Seconds time{};
};

struct Result {
  Epoch last;
  std::vector<std::uint64_t> hashes;  ///< Of every rank's parameters.
  Seconds time{};
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
Result train(Job& job, const Options& options, const Split& data,
             const std::function<void(const Epoch&)>& finished);

}  // namespace digits
