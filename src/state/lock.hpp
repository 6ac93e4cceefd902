// One `fastgpu` at a time on one cluster; as many as you like on different ones.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/cancel.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::state {

/// Held as long as the object lives; the kernel releases it when the process dies, however it dies.
/// A child that outlives its parent must not inherit the descriptor: exec closes it, fork does not.
class ClusterLock {
 public:
  /// Waits up to `patience` for another process. Throws ErrorKind::conflict, naming the holder's
  /// process and since when, when it does not let go; interrupted when `cancel` comes first.
  ClusterLock(const std::filesystem::path& state_directory, const ClusterName& cluster,
              std::chrono::milliseconds patience, const Cancel& cancel);

  /// The lock where nobody holds it; absent where somebody does. Throws as the constructor does
  /// where the state directory cannot be written.
  static std::optional<ClusterLock> try_lock(const std::filesystem::path& state_directory,
                                             const ClusterName& cluster);

  /// Removes the lock's file while it is held: its cluster is gone. Others then lock a new file.
  void remove_file() noexcept;

 private:
  ClusterLock(UniqueFd file, std::filesystem::path path);

  UniqueFd file_;
  std::filesystem::path path_;
};

}  // namespace fastgpu::state
