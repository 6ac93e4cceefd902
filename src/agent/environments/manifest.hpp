// The list of every file of one build with its SHA-256: made by the building node, compared on
// every node.
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

/// The sums of files that need not be read, by their path below the build.
using KnownSums = std::unordered_map<std::string, transfer::Digest>;

/// Writes the manifest of the files in `version`, which is complete from then on; returns the
/// manifest's own SHA-256.
std::string write_manifest(const std::filesystem::path& version, const KnownSums& known);

/// Returns the SHA-256 of the manifest there; empty without one.
std::string manifest_sum(const std::filesystem::path& version);
/// Returns the SHA-256 of its env.yaml; empty without a file.
std::string spec_sum(const std::filesystem::path& version);

/// Returns the total size of its files, by its manifest; 0 without one.
std::uint64_t build_bytes(const std::filesystem::path& version);

/// Returns the files that both builds have by their manifests: with the same path, mode and
/// content. Empty if one has no manifest.
KnownSums files_in_both(const std::filesystem::path& version, const std::filesystem::path& other);

/// The files of a complete build.
class Manifest {
 public:
  /// Loads the manifest of the build in `version`; without one it has no files. Throws remote for a
  /// malformed manifest.
  explicit Manifest(std::filesystem::path version);

  using Sums = std::vector<std::optional<transfer::Digest>>;
  /// Returns the sums of the files at those paths below the build, in their order. Reads files that
  /// may have been written to since the build was checked. Absent if a file was changed, or is not
  /// in the manifest.
  Sums sums_if_intact(std::span<const std::string> paths) const;

  /// Returns the sum of the file at that path with that status; absent if the file would have to be
  /// read.
  std::optional<transfer::Digest> sum_if_untouched(const std::string& path,
                                                   const struct stat& status) const;

  /// Returns the paths that begin with `start`.
  std::vector<std::string> paths_from(const std::string& start) const;

 private:
  std::filesystem::path version_;
  std::map<std::string, std::string> lines_;  // The lines by path.
  bool was_checked_ = false;                  // True if it was checked since the last boot.
};

/// Returns the total size of the files that both have.
std::uint64_t bytes_in_both(const std::filesystem::path& version,
                            const std::filesystem::path& other);

/// The files received just now, by their path below the build.
using ReceivedFiles = std::unordered_map<std::string, transfer::ReceivedFile>;

/// Compares every file with its manifest, reading those that were not received just now. Added
/// files are damage, too, except for Python's caches. Throws not_found without a manifest, remote
/// if it is malformed.
VerifyAnswer verify_manifest(const std::filesystem::path& version,
                             const ReceivedFiles& received = {});

}  // namespace fastgpu::agent
