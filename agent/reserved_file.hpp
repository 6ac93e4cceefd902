// A small file whose room on the disk is taken before it is needed.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// So that how a program ended can be written down also when the program has filled the disk.
class ReservedFile {
 public:
  static constexpr std::size_t kRoom = 4'096;

  /// Throws capacity, naming this node and the path, where there is no room.
  explicit ReservedFile(std::filesystem::path path);
  ~ReservedFile();
  ReservedFile(const ReservedFile&) = delete;
  ReservedFile& operator=(const ReservedFile&) = delete;

  /// Makes the file appear with that content, of which kRoom bytes are kept. A reader sees all of
  /// it or nothing.
  void commit(std::string_view content);

 private:
  std::filesystem::path path_;
  std::filesystem::path place_;
  UniqueFd file_;
};

}  // namespace fastgpu::agent
