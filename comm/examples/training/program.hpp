// The training examples from their first argument to their exit status.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "dataset.hpp"
#include "options.hpp"
#include "training.hpp"

namespace training {

/// The parts that differ between the examples.
struct TrainingProgram {
  std::string name;
  std::string about;      ///< A description of the training.
  std::string data_help;  ///< A description of the data.
  TrainingRecipe recipe;
  TrainingOptions defaults;
  std::function<Split(const std::filesystem::path& data)> load;
};

/// Runs an example. Returns 0; 1 for a failure, also if ranks have other parameters at the end; 2
/// for wrong arguments.
int run(const TrainingProgram& program, std::span<const char* const> arguments);

}  // namespace training
