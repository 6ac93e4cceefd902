// Reads a file that has effect without being named. It is used only if no other user can have
// written it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::config {

struct TrustedFile {
  std::optional<std::string> text{};  ///< Absent if the file is missing or cannot be trusted.
  /// The reason for not using the file; empty if it is missing.
  std::string reason{};
};

/// Reads a regular file that belongs to this user or to root and that no other user may write. A
/// link must belong to one of these two as well. Never blocks, even for a FIFO or a device. Stops
/// soon after the size limit.
TrustedFile read_trusted(const std::filesystem::path& path);

}  // namespace fastgpu::config
