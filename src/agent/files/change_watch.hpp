// Wakes up when something changes in a directory.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// A watch by inotify. If the kernel refuses one (their number is limited per user), the caller
/// polls.
class ChangeWatch {
 public:
  ChangeWatch();

  void add(const std::filesystem::path& directory);

  /// Returns a descriptor that is readable after a change; -1 without a watch.
  int fd() const noexcept { return works_ ? inotify_.get() : -1; }
  void clear();  ///< Forgets the changes so far.

 private:
  UniqueFd inotify_;
  bool works_;
};

}  // namespace fastgpu::agent
