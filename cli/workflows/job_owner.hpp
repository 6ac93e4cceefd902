// Locks of the processes that are responsible for a job.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// A lock that is held while a job runs. The kernel releases it when the process ends, for any
/// reason.
class JobOwner {
 public:
  /// Takes the lock of a job, or that of its array, which is one lock for all of its jobs. If
  /// another process has it, held() is false; also in a read-only state directory, where the owner
  /// cannot be found out. Throws if the lock cannot be opened for another reason.
  JobOwner(const std::filesystem::path& state_directory, const std::string& id);
  ~JobOwner();
  JobOwner(const JobOwner&) = delete;
  JobOwner& operator=(const JobOwner&) = delete;

  bool held() const noexcept { return static_cast<bool>(file_); }

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

/// The lock of the process which asks a job's nodes whether it has ended, for all processes that
/// wait for it: a byte of one file, so that a killed process leaves no file. Behaves as JobOwner.
class JobAsker {
 public:
  JobAsker(const std::filesystem::path& state_directory, const std::string& id);

  bool held() const noexcept { return static_cast<bool>(file_); }

 private:
  UniqueFd file_;
};

}  // namespace fastgpu::cli
