// A directory for temporary files.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::state {

/// A directory in `state directory`/scratch. The constructor creates it, and the destructor removes
/// it with its content. If the process is killed before that, the next process that creates such a
/// directory removes it.
class ScratchDirectory {
 public:
  /// Throws as make_private_directory() and system_error() do.
  explicit ScratchDirectory(const std::filesystem::path& state_directory);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd lock_;
};

}  // namespace fastgpu::state
