// From what is wanted and what is there to what is to be done. Nothing here acts.
#pragma once

#include <string>
#include <vector>

#include "envs/drivers/recipe.hpp"

namespace fastgpu::envs {

using Argv = std::vector<std::string>;

enum class StepState : std::uint8_t {
  done,      ///< The facts say so: nothing runs.
  to_do,     ///< Runs.
  left_out,  ///< Cannot be had here, and the rest does without it; the note says why.
};

/// One thing that shall be true on a node.
struct Step {
  std::string title;  ///< "Install driver 580.95.05", the same on every node that needs it
  StepState state = StepState::to_do;
  std::vector<Argv> commands{};  ///< What makes it true: run in this order, as root.
  bool reboots = false;          ///< The node goes down by it, and comes back.
  bool reads_index = false;      ///< After it the index is Index::just_read.
  std::string note{};
};

struct Plan {
  std::vector<Step> steps;

  /// The first step that is to do, or null where all is done.
  const Step* next() const noexcept;
  friend bool operator==(const Plan&, const Plan&);
};

/// How old what a node knows of its repository is.
enum class Index : std::uint8_t { perhaps_old, just_read };

/// The driver, CUDA and what goes with them, in order; steps that are done are in it too. Throws
/// ErrorKind::usage where it cannot be (no GPU, a driver that does not know it, a system without
/// packages).
std::vector<Step> driver_steps(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix,
                               Index index);

}  // namespace fastgpu::envs
