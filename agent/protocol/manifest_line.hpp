// What a line of a build's manifest says of one file.
#pragma once

#include <cstdint>
#include <string>

namespace fastgpu::agent {

/// "KIND MODE SIZE SUM PATH": of a link the sum is that of where it leads, of a directory "-".
struct ManifestEntry {
  char kind = 'f';         ///< f, l, d
  std::uint32_t mode = 0;  ///< 0 of a link.
  std::uint64_t size = 0;  ///< 0 but for files.
  std::string path;
};

std::string line_of(const ManifestEntry& entry, const std::string& sum);

/// Throw ErrorKind::remote for what is no line of a manifest.
std::string sum_in(const std::string& line);
std::string path_in(const std::string& line);
std::uint64_t size_in(const std::string& line);

/// Python writes there whenever a module is imported for the first time: what is there may be in no
/// manifest.
bool is_cache(const std::string& path);

}  // namespace fastgpu::agent
