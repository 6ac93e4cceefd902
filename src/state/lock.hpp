// One `fastgpu` at a time on one cluster; any number on different ones.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/cancel.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "state/store.hpp"

namespace fastgpu::state {

/// A lock held during the object's lifetime; the kernel releases it when the process ends in any
/// way. A child that outlives its parent must not inherit the descriptor: exec closes it, fork does
/// not. The lock's file goes with the cluster: the destructor removes it if no cluster has the
/// name.
class ClusterLock {
 public:
  /// Waits up to `patience` for another process. Throws ErrorKind::conflict, naming the holder's
  /// process and its start, if it does not release the lock; interrupted if `cancel` comes first.
  /// Borrows `store`.
  ClusterLock(const Store& store, const ClusterName& cluster, std::chrono::milliseconds patience,
              const Cancel& cancel);
  ClusterLock(ClusterLock&&) noexcept = default;
  ClusterLock& operator=(ClusterLock&&) = delete;
  ~ClusterLock();

  /// Returns the lock if no other process holds it, else nothing. Throws as the constructor does if
  /// the state directory cannot be written.
  static std::optional<ClusterLock> try_lock(const Store& store, const ClusterName& cluster);

 private:
  ClusterLock(const Store& store, ClusterName cluster, std::filesystem::path path, UniqueFd file);

  const Store* store_;
  ClusterName cluster_;
  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace fastgpu::state
