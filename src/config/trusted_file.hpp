// A file that takes effect without being named: read only if no other user can have written it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::config {

struct TrustedFile {
  std::optional<std::string> text{};  ///< Absent if the file is missing or cannot be trusted.
  /// The reason why the file is not used; empty if it is missing.
  std::string reason{};
};

/// Reads a regular file that belongs to this user or to root and that no other user may write. A
/// link must belong to one of the two as well. Never waits, whatever has that name, and reads at
/// most just past the size limit of such files.
TrustedFile read_trusted(const std::filesystem::path& path);

}  // namespace fastgpu::config
