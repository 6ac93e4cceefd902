// Notices that the disk of a job's logs is full.
#pragma once

#include <chrono>
#include <filesystem>
#include <utility>

namespace fastgpu::agent {

/// Looks once a second. It never throws.
class FullWatch {
 public:
  explicit FullWatch(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Returns for how many milliseconds poll() may wait.
  int wait() const noexcept;
  /// Looks now. Returns true if the disk is full.
  bool is_full() const noexcept;
  /// Looks if it is time to. Returns true if the disk is full now, and was not when it was looked
  /// at before.
  bool look() noexcept;

 private:
  using SteadyClock = std::chrono::steady_clock;

  std::filesystem::path directory_;
  SteadyClock::time_point next_{};
  int looks_ = 0;
  bool is_full_ = false;
};

}  // namespace fastgpu::agent
