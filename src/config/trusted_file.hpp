// A file that takes effect without being named: read only where nobody else can have written it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::config {

struct TrustedFile {
  std::optional<std::string> text{};  ///< Absent where there is no file, or none to be trusted.
  std::string reason{};               ///< Why the file is not used; empty where there is none.
};

/// Reads a regular file that belongs to this user or to root and that no other user may write. A
/// link has to belong to one of the two as well. Never waits, whatever has that name, and reads no
/// more than just past what is too large for any such file.
TrustedFile read_trusted(const std::filesystem::path& path);

}  // namespace fastgpu::config
