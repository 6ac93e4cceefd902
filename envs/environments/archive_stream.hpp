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

/// As transfer::TreeReceiver takes it, from an archive that was found to be whole.
class ArchiveStream {
 public:
  /// `scratch`: a directory of ours. All are borrowed.
  ArchiveStream(const EnvironmentArchive& archive, std::filesystem::path scratch,
                const Cancel& cancel);

  /// The next piece; absent at the end. Throws as ArchiveFile, naming the file.
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
  std::map<std::string, UniqueFd> kept_;  // Files that come again under another name, by path.
  std::optional<transfer::Sha256> sum_;   // Of the file that is sent just now.
  int content_ = -1;                      // Of a kept one; -1: it comes out of the archive.
  bool is_over_ = false;
  std::string buffer_;
};

}  // namespace fastgpu::envs
