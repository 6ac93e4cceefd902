// Every file of one build of an environment with its SHA-256: made where it was built, compared
// wherever it is.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/protocol/environment.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::agent {

/// Writes the manifest of what lies in `version`, which is complete from then on; returns the
/// manifest's own sum.
std::string write_manifest(const std::filesystem::path& version);

/// The sum of the manifest that lies there; empty where there is none.
std::string manifest_sum(const std::filesystem::path& version);
/// The sum of the env.yaml that it was made of; empty where there is none.
std::string spec_sum(const std::filesystem::path& version);

/// What its files take up together, by its manifest; 0 where there is none.
std::uint64_t build_bytes(const std::filesystem::path& version);

/// Of files that have been read just now, by their path below the build.
using KnownSums = std::unordered_map<std::string, transfer::Digest>;

/// The files that both builds have by their manifests: with the same path, mode and content. Empty
/// where one has no manifest.
KnownSums files_in_both(const std::filesystem::path& version, const std::filesystem::path& other);

/// What a complete build is to have, file by file.
class Manifest {
 public:
  /// Of the build in `version`; of one without a manifest it has no files. Throws remote for what
  /// cannot be read.
  explicit Manifest(std::filesystem::path version);

  using Sums = std::vector<std::optional<transfer::Digest>>;
  /// Of the files at those paths below the build, in their order; reads them. Absent where one is
  /// not what it was, or was never there.
  Sums sums_if_intact(std::span<const std::string> paths) const;

  /// Those that begin so.
  std::vector<std::string> paths_from(const std::string& start) const;

 private:
  std::filesystem::path version_;
  std::map<std::string, std::string> lines_;  // By path.
};

/// What the files that both have take up together.
std::uint64_t bytes_in_both(const std::filesystem::path& version,
                            const std::filesystem::path& other);

/// Compares every file with its manifest, reading those whose sum is not known. What has been added
/// is damage, too, but for what Python caches. Throws not_found where there is no manifest, remote
/// where it cannot be read.
VerifyAnswer verify_manifest(const std::filesystem::path& version, const KnownSums& known = {});

}  // namespace fastgpu::agent
