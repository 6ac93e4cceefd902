// What the training examples do from their first argument to their exit status.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "dataset.hpp"
#include "options.hpp"
#include "training.hpp"

namespace training {

/// What one of them has of its own.
struct Program {
  std::string name;
  std::string about;      ///< What it trains.
  std::string data_help;  ///< What its data is.
  Recipe recipe;
  Options defaults;
  std::function<Split(const std::filesystem::path& data)> load;
};

/// Returns 0; 1 for a failure, also where ranks have other parameters at the end; 2 for wrong
/// arguments.
int run(const Program& program, std::span<const char* const> arguments);

}  // namespace training
