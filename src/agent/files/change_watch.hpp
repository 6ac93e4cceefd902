// Reports changes in directories.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// A watch by inotify. The kernel may refuse one, because their number is limited per user. Then
/// the caller must poll.
class ChangeWatch {
 public:
  ChangeWatch();

  void add(const std::filesystem::path& directory);

  /// Returns a descriptor that is readable after a change; -1 if the kernel has refused the watch.
  int fd() const noexcept { return works_ ? inotify_.get() : -1; }
  void clear();  ///< Forgets the changes so far.

 private:
  UniqueFd inotify_;
  bool works_;
};

}  // namespace fastgpu::agent
