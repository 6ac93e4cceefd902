// A line of a build's manifest, which describes one file.
#pragma once

#include <cstdint>
#include <string>

namespace fastgpu::agent {

/// A line "KIND MODE SIZE SUM PATH". The checksum of a link is that of its target; a directory has
/// "-".
struct ManifestEntry {
  char kind = 'f';         ///< f, l, d
  std::uint32_t mode = 0;  ///< 0 for a link.
  std::uint64_t size = 0;  ///< 0 except for files.
  std::string path;
};

std::string line_of(const ManifestEntry& entry, const std::string& sum);

/// Return parts of a line. They throw ErrorKind::remote for a malformed line.
std::string sum_in(const std::string& line);
std::string path_in(const std::string& line);
std::uint64_t size_in(const std::string& line);

/// Returns true for a file of Python's caches, which are written when a module is first imported.
/// The manifest may lack it.
bool is_cache(const std::string& path);

}  // namespace fastgpu::agent
