// Protection of a rank from the children that it makes by fork.
#pragma once

#include <atomic>
#include <vector>

namespace fastgpu::comm {

/// Replaces the descriptors by /dev/null in a child. So the rank's death is noticed while the child
/// lives, and the child does not read the rank's data. Children that are made without the C
/// library's fork() are not noticed.
class ForkGuard {
 public:
  explicit ForkGuard(std::vector<int> descriptors);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  void add(int descriptor);

  /// Removes a descriptor that is about to be closed: its number may be used again.
  void forget(int descriptor);

  /// Returns whether this process is such a child: locks may be held for ever here, and threads are
  /// missing.
  bool is_child() const noexcept { return is_child_.load(std::memory_order_relaxed); }

 private:
  friend class ForkGuards;
  void become_child() noexcept;

  std::vector<int> descriptors_;
  std::atomic<bool> is_child_{false};
};

}  // namespace fastgpu::comm
