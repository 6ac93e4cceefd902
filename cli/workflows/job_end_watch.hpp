// Waits for the ends of jobs that no fastgpu follows, so that other jobs start soon after them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Waits at the nodes of some jobs, in a thread for each. Only the thread that made it may use it.
class JobEndWatch {
 public:
  /// Borrows `services`.
  explicit JobEndWatch(Services& services);
  ~JobEndWatch();
  JobEndWatch(const JobEndWatch&) = delete;
  JobEndWatch& operator=(const JobEndWatch&) = delete;

  /// Watches those of the jobs that run, and no others any more; of many jobs only the first few. A
  /// job whose nodes cannot be asked is not watched.
  void watch(std::span<const state::Job> jobs);
  bool is_watched(const state::Job& job) const;

  /// Returns the jobs that may have ended since the last call. Their nodes are then asked.
  std::set<std::string> take_ends();

 private:
  class Wait;

  Services& services_;
  std::map<std::string, std::unique_ptr<Wait>> waits_;  ///< By the name of the run.
};

}  // namespace fastgpu::cli
