// Runs a job's launcher, ends it when it must end, and records its outcome.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"

namespace fastgpu::agent {

/// The supervisor's view of the lease. Measures by its own clock how long the file's time has not
/// changed, so that a changed system clock does not end a job.
class Lease {
 public:
  Lease(std::filesystem::path file, std::chrono::milliseconds term);
  bool has_run_out();

 private:
  std::filesystem::path file_;
  std::chrono::milliseconds term_;
  std::filesystem::file_time_type seen_{};
  std::chrono::steady_clock::time_point since_;
};

/// Blocks until the job has ended and no process of it runs here any more; then `status` is
/// written. `started` is called once its launcher runs, or could not be started. Never throws for
/// failures of the job; throws if the directory cannot be used.
void supervise(const std::filesystem::path& directory, const Plan& plan,
               const std::function<void()>& started);

}  // namespace fastgpu::agent
