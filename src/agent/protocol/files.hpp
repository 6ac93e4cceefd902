// Small files that are sent to a node through standard input, and never through arguments: plans,
// keys, host files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

struct SmallFile {
  std::string name;  ///< A relative path, without "..".
  std::string content;
  unsigned mode = 0600;
};

std::string encode_files(const std::vector<SmallFile>& files);

/// Decodes files. Throws remote for incomplete or malformed text, and for a name that leads out of
/// the directory.
std::vector<SmallFile> decode_files(std::string_view text);

/// Returns the last line of a batch script that carries files to the nodes of its job.
std::string carried_files(const std::vector<SmallFile>& files);

/// Returns the files that a batch script carries. Throws remote, as decode_files does.
std::vector<SmallFile> files_in_script(std::string_view script);

}  // namespace fastgpu::agent
