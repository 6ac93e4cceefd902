// The file of an archive of an environment: a tar archive packed by zstd.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "transfer/packing.hpp"
#include "transfer/tar.hpp"

namespace fastgpu::envs {

/// An archive file, read once from its beginning. Data that unpacks to a hundred times its size,
/// and more than 256 MB, is refused on the way.
class ArchiveFile {
 public:
  /// Throws not_found, and as system_error. Reading also throws usage or interrupted; no message
  /// names the file.
  ArchiveFile(const std::filesystem::path& file, const Cancel& cancel);
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;

  transfer::TarReader& entries() noexcept { return entries_; }

 private:
  std::size_t read(std::span<char> out);

  const Cancel& cancel_;
  UniqueFd file_;
  transfer::PackedStream stream_;
  std::uint64_t unpacked_ = 0;
  std::uint64_t most_ = 0;
  transfer::TarReader entries_;
};

}  // namespace fastgpu::envs
