// The process that is responsible for an attached job, identified by a lock that dies with it.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// A lock for the time of a job; the kernel frees it when we die, for any reason.
class JobOwner {
 public:
  /// Takes the lock; if it is taken already, `held()` is false. Throws if the state directory is
  /// not writable.
  JobOwner(const std::filesystem::path& state_directory, const std::string& job_id);
  ~JobOwner();
  JobOwner(const JobOwner&) = delete;
  JobOwner& operator=(const JobOwner&) = delete;

  bool held() const noexcept { return static_cast<bool>(file_); }

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace fastgpu::cli
