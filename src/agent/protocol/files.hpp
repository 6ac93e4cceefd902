// Small files sent to a node through standard input: plans, keys, host files. Never through argv.
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

/// Decodes files. Throws remote for a text that is cut off or malformed, and for a name that leads
/// elsewhere.
std::vector<SmallFile> decode_files(std::string_view text);

}  // namespace fastgpu::agent
