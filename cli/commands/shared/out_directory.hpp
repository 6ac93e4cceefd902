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
  /// Makes nothing that stays. Throws ErrorKind::usage for "~", which only shells expand, and else
  /// as require_writable_directory(). `flag` begins the message: "run job: --fetch-to".
  OutDirectory(std::string_view flag, const std::string& path);

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Makes a directory and those above it. Throws the error of the system with the path.
void make_directories(const std::filesystem::path& directory);

}  // namespace fastgpu::cli
