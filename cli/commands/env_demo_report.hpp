// What the demonstrations of an environment came to, and whether many ranks learn what one does.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::cli {

/// What a demonstration's rank 0 says at its end.
struct DemoRun {
  std::string framework;
  int ranks = 1;
  double accuracy = 0;  ///< In the test, 0 to 1.
  double loss = 0;
  double seconds = 0;
};

/// Absent for a line that is no report. Throws ErrorKind::remote for a report that is not whole.
std::optional<DemoRun> parse_demo_report(const std::string& line);

/// The frameworks of an environment that there is a demonstration for: "numpy", "torch",
/// "tensorflow", "jax", "mxnet", in this order.
std::vector<std::string> demos_for(const envs::EnvironmentLock& lock);

/// The file of that demonstration, relative to the environment.
std::string demo_script(const std::string& framework);

/// What is wrong with the result of many ranks beside that of one; empty where nothing is.
std::string objection(const DemoRun& one, const DemoRun& many);

/// One run after the other: of each framework that on one rank, then that on many.
View view_of(const std::string& environment, const std::vector<DemoRun>& runs);

}  // namespace fastgpu::cli
