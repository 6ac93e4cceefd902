// Which process is responsible for an attached job, told by a lock that dies with it.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// Held while a job is run; the kernel lets go when we die, however that happens.
class JobOwner {
 public:
  /// Takes the lock, or finds it taken: then `held()` is false. Throws where the state directory
  /// cannot be written.
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
