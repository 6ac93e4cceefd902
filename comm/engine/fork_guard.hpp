// What becomes of a rank in a child that it makes by fork.
#pragma once

#include <atomic>
#include <vector>

namespace fastgpu::comm {

/// In the child the descriptors are replaced by /dev/null, so that the rank's death is noticed
/// while the child lives, and the child does not read what is for the rank. Children that are made
/// without the C library's fork() are not noticed.
class ForkGuard {
 public:
  explicit ForkGuard(std::vector<int> descriptors);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  /// The descriptor is about to be closed, and its number may be another's then.
  void forget(int descriptor);

  /// Whether this process is such a child: locks may be held for ever here, and threads are
  /// missing.
  bool is_child() const noexcept { return is_child_.load(std::memory_order_relaxed); }

 private:
  friend class ForkGuards;
  void become_child() noexcept;

  std::vector<int> descriptors_;
  std::atomic<bool> is_child_{false};
};

}  // namespace fastgpu::comm
