// The results of an environment's demonstrations, and the check that many ranks learn the same as
// one. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::cli {

/// The report of rank 0 at the end of a demonstration.
struct DemoRun {
  std::string framework;
  int ranks = 1;
  double accuracy = 0;  ///< The share of correct answers in the test, from 0 to 1.
  double loss = 0;
  double seconds = 0;
};

/// Parses a report. Absent for any other line. Throws ErrorKind::remote for an incomplete report.
std::optional<DemoRun> parse_demo_report(const std::string& line);

/// Returns the frameworks of the environment that have a demonstration: "numpy", "torch",
/// "tensorflow", "jax", "mxnet", in this order.
std::vector<std::string> demos_for(const envs::EnvironmentLock& lock);

/// Returns the path of the framework's demonstration, relative to the environment.
std::string demo_script(const std::string& framework);

/// Returns what is wrong with the results of one rank and of many ranks; "" if nothing is.
std::string objection(const DemoRun& one, const DemoRun& many);

/// Returns a view with one row per run, in the order of `runs`.
View view_of(const std::string& environment, const std::vector<DemoRun>& runs);

}  // namespace fastgpu::cli
