// A small file whose room on the disk is taken before it is needed.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// A file with a reserve, so that a program's outcome can be written even if the program has filled
/// the disk.
class ReservedFile {
 public:
  static constexpr std::size_t kRoom = 4'096;

  /// Throws capacity, naming this node and the path, without room.
  explicit ReservedFile(std::filesystem::path path);
  ~ReservedFile();
  ReservedFile(const ReservedFile&) = delete;
  ReservedFile& operator=(const ReservedFile&) = delete;

  /// Makes the file appear with that content, cut to kRoom bytes. A reader sees all of it or
  /// nothing.
  void commit(std::string_view content);

 private:
  std::filesystem::path path_;
  std::filesystem::path place_;
  UniqueFd file_;
};

}  // namespace fastgpu::agent
