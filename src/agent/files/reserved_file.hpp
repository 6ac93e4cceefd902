// A small file whose disk space is reserved before it is needed.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Reserves space, so that a program's outcome can be written even if the program has filled the
/// disk.
class ReservedFile {
 public:
  static constexpr std::size_t kRoom = 4'096;

  /// Reserves the space. Throws capacity, naming this node and the path, if the disk is full.
  explicit ReservedFile(std::filesystem::path path);
  ~ReservedFile();
  ReservedFile(const ReservedFile&) = delete;
  ReservedFile& operator=(const ReservedFile&) = delete;

  /// Makes the file appear with this content, cut to kRoom bytes. Readers see either all of it or
  /// no file.
  void commit(std::string_view content);

 private:
  std::filesystem::path path_;
  std::filesystem::path place_;
  UniqueFd file_;
};

}  // namespace fastgpu::agent
