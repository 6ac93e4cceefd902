// Runs a job's launcher, ends it when necessary, and records the job's outcome.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"

namespace fastgpu::agent {

/// The supervisor's check of the lease. It measures by its own clock for how long the file's time
/// has not changed, so that a change of the system's clock does not end the job.
class LeaseWatch {
 public:
  LeaseWatch(std::filesystem::path file, std::chrono::milliseconds term);
  bool has_run_out();

 private:
  std::filesystem::path file_;
  std::chrono::milliseconds term_;
  std::filesystem::file_time_type seen_{};
  std::chrono::steady_clock::time_point since_;
};

/// Runs the job and returns once no process of it runs here any more and `status` is written. Calls
/// `started` once the job's launcher runs or could not be started. Does not throw for failures of
/// the job; throws if the directory cannot be used.
void supervise(const std::filesystem::path& directory, const JobPlan& plan,
               const std::function<void()>& started);

}  // namespace fastgpu::agent
