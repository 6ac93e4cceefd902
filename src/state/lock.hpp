// A lock on a cluster, so that only one `fastgpu` process at a time changes it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/cancel.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "state/store.hpp"

namespace fastgpu::state {

/// Holds the lock while the object lives. The kernel releases it when the process ends for any
/// reason. A child process that outlives its parent must not inherit the descriptor: exec closes
/// it, fork does not. The destructor removes the lock's file if no cluster has the name any more.
class ClusterLock {
 public:
  /// Waits up to `timeout` for another process. Throws ErrorKind::conflict, naming the holder and
  /// the time since which it has the lock, if the holder does not release it. Throws interrupted if
  /// `cancel` is requested first. Borrows `store`.
  ClusterLock(const Store& store, const ClusterName& cluster, std::chrono::milliseconds timeout,
              const Cancel& cancel);
  ClusterLock(ClusterLock&&) noexcept = default;
  ClusterLock& operator=(ClusterLock&&) = delete;
  ~ClusterLock();

  /// Returns the lock; absent if another process holds it. Throws as the constructor does if the
  /// state directory cannot be written.
  static std::optional<ClusterLock> try_lock(const Store& store, const ClusterName& cluster);

 private:
  ClusterLock(const Store& store, ClusterName cluster, std::filesystem::path path, UniqueFd file);

  const Store* store_;
  ClusterName cluster_;
  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace fastgpu::state
