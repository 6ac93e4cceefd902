// The common command line of the training examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>

namespace training {

struct TrainingOptions {
  std::size_t global_batch = 64;  ///< Samples of one step, over all ranks together.
  std::size_t epochs = 30;
  std::uint64_t seed = 1;
  std::filesystem::path data{};
  std::optional<std::filesystem::path> report{};  ///< Written by rank 0.
  bool wants_json = false;                        ///< The report on stdout.
  bool wants_help = false;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses the arguments; missing ones are as in `defaults`. Throws UsageError, naming the argument.
TrainingOptions parse_options(const TrainingOptions& defaults,
                              std::span<const char* const> arguments);

}  // namespace training
