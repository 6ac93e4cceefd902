// The build in an archive as a stream of files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "envs/environments/archive.hpp"
#include "envs/environments/archive_file.hpp"
#include "transfer/record.hpp"

namespace fastgpu::envs {

/// The records for transfer::TreeReceiver, from an archive that was checked.
class ArchiveStream {
 public:
  /// Borrows all arguments. `scratch` is a directory of ours.
  ArchiveStream(const EnvironmentArchive& archive, std::filesystem::path scratch,
                const Cancel& cancel);

  /// Returns the next piece; absent at the end. Throws as ArchiveFile, naming the file.
  std::optional<std::string> next();

 private:
  void add_more(std::string& records);
  void add_entry(std::string& records, const transfer::TarEntry& entry);
  void add_content(std::string& records);
  void keep_content(const std::string& path);
  void go_to_kept(const std::string& path);
  std::size_t read_content();

  const EnvironmentArchive& archive_;
  std::filesystem::path scratch_;
  ArchiveFile file_;
  transfer::Packer packer_;
  std::map<std::string, UniqueFd> kept_;  // The files that come again under another name, by path.
  std::optional<transfer::Sha256> sum_;   // The sum of the file in transfer.
  // The content of a kept file; -1: it comes from the archive.
  int content_ = -1;
  bool is_over_ = false;
  std::string buffer_;
};

}  // namespace fastgpu::envs
