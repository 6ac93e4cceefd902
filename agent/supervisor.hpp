// Runs a job's launcher, ends it when it must end, and writes down how it ended.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"

namespace fastgpu::agent {

/// The lease as the supervisor sees it. Measures by its own clock how long the file's time has not
/// changed, so that a clock that is set does not end a job.
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

/// Blocks until the job has ended and nothing of it runs here any more; then `status` is written.
/// `started` is called once its launcher runs, or could not be started. Never throws for what the
/// job does; throws where the directory cannot be used.
void supervise(const std::filesystem::path& directory, const Plan& plan,
               const std::function<void()>& started);

}  // namespace fastgpu::agent
