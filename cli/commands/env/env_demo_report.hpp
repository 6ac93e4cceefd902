// The results of an environment's demonstrations, and whether many ranks learn the same as one.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::cli {

/// The report of a demonstration's rank 0 at its end.
struct DemoRun {
  std::string framework;
  int ranks = 1;
  double accuracy = 0;  ///< The share of right answers in the test, 0 to 1.
  double loss = 0;
  double seconds = 0;
};

/// Parses a report; absent for any other line. Throws ErrorKind::remote for an incomplete report.
std::optional<DemoRun> parse_demo_report(const std::string& line);

/// Returns the frameworks of an environment that have a demonstration: "numpy", "torch",
/// "tensorflow", "jax", "mxnet", in this order.
std::vector<std::string> demos_for(const envs::EnvironmentLock& lock);

/// Returns the file of that demonstration, relative to the environment.
std::string demo_script(const std::string& framework);

/// Returns the fault of the result of many ranks compared with that of one; empty without one.
std::string objection(const DemoRun& one, const DemoRun& many);

/// Returns one run after the other: of each framework that on one rank, then that on many.
View view_of(const std::string& environment, const std::vector<DemoRun>& runs);

}  // namespace fastgpu::cli
