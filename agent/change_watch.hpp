// Wakes up when something changes in a directory.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// By inotify. Where the kernel gives none (its number is limited per user), the caller polls.
class ChangeWatch {
 public:
  ChangeWatch();

  void add(const std::filesystem::path& directory);

  /// Readable when something has changed; -1 where there is nothing to wait for.
  int fd() const noexcept { return works_ ? inotify_.get() : -1; }
  void clear();  ///< Forgets what has changed so far.

 private:
  UniqueFd inotify_;
  bool works_;
};

}  // namespace fastgpu::agent
