// One `fastgpu` at a time on one cluster; as many as you like on different ones.
#pragma once

#include <chrono>
#include <filesystem>

#include "base/cancel.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::state {

/// Held as long as the object lives; the kernel releases it when the process dies, however it dies.
class ClusterLock {
 public:
  /// Waits up to `patience` for another process. Throws ErrorKind::conflict, naming the holder's
  /// process and since when, when it does not let go; interrupted when `cancel` comes first.
  ClusterLock(const std::filesystem::path& state_directory, const ClusterName& cluster,
              std::chrono::milliseconds patience, const Cancel& cancel);

 private:
  UniqueFd file_;
};

}  // namespace fastgpu::state
