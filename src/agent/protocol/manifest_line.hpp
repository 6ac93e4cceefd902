// One line of a build's manifest, for one file.
#pragma once

#include <cstdint>
#include <string>

namespace fastgpu::agent {

/// A line "KIND MODE SIZE SUM PATH". The sum of a link is that of its target, of a directory "-".
struct ManifestEntry {
  char kind = 'f';         ///< f, l, d
  std::uint32_t mode = 0;  ///< 0 for a link.
  std::uint64_t size = 0;  ///< 0 except for files.
  std::string path;
};

std::string line_of(const ManifestEntry& entry, const std::string& sum);

/// Returns one part of a line. Each throws ErrorKind::remote for a malformed line.
std::string sum_in(const std::string& line);
std::string path_in(const std::string& line);
std::uint64_t size_in(const std::string& line);

/// Returns true for a cache of Python, written whenever a module is imported for the first time:
/// its files may be missing in the manifest.
bool is_cache(const std::string& path);

}  // namespace fastgpu::agent
