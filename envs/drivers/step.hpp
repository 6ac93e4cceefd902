// A step of a plan, and the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fastgpu::envs {

using Argv = std::vector<std::string>;

enum class StepState : std::uint8_t {
  done,      ///< Done according to the facts: not run.
  to_do,     ///< To run.
  left_out,  ///< Unavailable here, and not essential; the note has the reason.
};

/// A step that makes one thing true on a node.
struct DriverStep {
  std::string title;  ///< "Install driver 580.95.05", the same on every node that needs it
  StepState state = StepState::to_do;
  std::vector<Argv> commands{};  ///< The commands that make it true: run in this order, as root.
  bool reboots = false;          ///< The node goes down and comes back.
  bool reads_index = false;      ///< Makes the index Index::just_read.
  std::string note{};
};

struct DriverPlan {
  std::vector<DriverStep> steps;

  /// Returns the first step to do; null if all is done.
  const DriverStep* next() const noexcept;
  friend bool operator==(const DriverPlan&, const DriverPlan&);
};

}  // namespace fastgpu::envs
