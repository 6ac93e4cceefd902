// A directory for files on their way to somewhere else.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::state {

/// Made at once, in `state directory`/scratch, and removed with all that is in it when this ends.
/// Where a process was killed before that, the next one to make such a directory removes it.
class ScratchDirectory {
 public:
  /// Throws as make_private_directory and system_error do.
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
