// Directories on this machine that get the results of long work: --fetch-to, --post-mortem.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fastgpu::cli {

/// A directory here that can be written to, or can be made. It is checked when it is named, which
/// is before the work whose results go there.
class OutDirectory {
 public:
  /// Makes nothing that stays. Throws ErrorKind::usage for a path below a file, and for "~", which
  /// only shells expand; denied, capacity or local if files cannot be made there. `flag` begins the
  /// message: "run job: --fetch-to".
  OutDirectory(std::string_view flag, const std::string& path);

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Makes and removes an entry in a directory that exists. Throws the error of the system, which
/// begins with `who`, if this fails.
void check_can_write_in(std::string_view who, const std::filesystem::path& directory);

/// Makes a directory and those above it. Throws the error of the system with the path.
void make_directories(const std::filesystem::path& directory);

}  // namespace fastgpu::cli
