// The manifest of a build: a list of its files with their SHA-256. The building node writes it, and
// every node compares its files with it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/protocol/environment.hpp"
#include "transfer/sha256.hpp"
#include "transfer/tree_receiver.hpp"

namespace fastgpu::agent {

/// Checksums of files that need not be read, by their paths below the build.
using KnownSums = std::unordered_map<std::string, transfer::Digest>;

/// Writes the manifest of the files in `version`, which is complete from then on. Returns the
/// manifest's own SHA-256.
std::string write_manifest(const std::filesystem::path& version, const KnownSums& known);

/// Returns the SHA-256 of the build's manifest; "" without one.
std::string manifest_sum(const std::filesystem::path& version);
/// Returns the SHA-256 of the build's env.yaml; "" without one.
std::string spec_sum(const std::filesystem::path& version);

/// Returns the total size of the build's files, by its manifest; 0 without one.
std::uint64_t build_bytes(const std::filesystem::path& version);

/// Returns the files that both manifests have with the same path, mode and content. Empty if a
/// manifest is missing.
KnownSums files_in_both(const std::filesystem::path& version, const std::filesystem::path& other);

/// The files of a complete build.
class Manifest {
 public:
  /// Loads the manifest of the build in `version`. Has no files if the manifest is missing. Throws
  /// remote if it is malformed.
  explicit Manifest(std::filesystem::path version);

  using Sums = std::vector<std::optional<transfer::Digest>>;
  /// Returns the checksums of the files at these paths below the build, in their order. Reads files
  /// that may have been changed since the build was checked. A checksum is absent if its file was
  /// changed or is not in the manifest.
  Sums sums_if_intact(std::span<const std::string> paths) const;

  /// Returns the checksum of the file at this path with this status; absent if the file would have
  /// to be read.
  std::optional<transfer::Digest> sum_if_untouched(const std::string& path,
                                                   const struct stat& status) const;

  /// Returns the paths that begin with `start`.
  std::vector<std::string> paths_from(const std::string& start) const;

 private:
  std::filesystem::path version_;
  std::map<std::string, std::string> lines_;  // The lines by path.
  bool was_checked_ = false;                  // True if it was checked since the last boot.
};

/// Returns the total size of the files that both builds have.
std::uint64_t bytes_in_both(const std::filesystem::path& version,
                            const std::filesystem::path& other);

/// The files that were received just now, by their paths below the build.
using ReceivedFiles = std::unordered_map<std::string, transfer::ReceivedFile>;

/// Compares every file with the manifest. Reads the files that were not received just now.
/// Additional files are damage, too, except for Python's caches. Throws not_found without a
/// manifest, and remote if it is malformed.
VerifyAnswer verify_manifest(const std::filesystem::path& version,
                             const ReceivedFiles& received = {});

}  // namespace fastgpu::agent
