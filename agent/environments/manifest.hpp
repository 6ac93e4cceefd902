// Every file of one build of an environment with its SHA-256: made where it was built, compared
// wherever it is.
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

/// Of files that need not be read, by their path below the build.
using KnownSums = std::unordered_map<std::string, transfer::Digest>;

/// Writes the manifest of what lies in `version`, which is complete from then on; returns the
/// manifest's own sum.
std::string write_manifest(const std::filesystem::path& version, const KnownSums& known);

/// The sum of the manifest that lies there; empty where there is none.
std::string manifest_sum(const std::filesystem::path& version);
/// The sum of the env.yaml that it was made of; empty where there is none.
std::string spec_sum(const std::filesystem::path& version);

/// What its files take up together, by its manifest; 0 where there is none.
std::uint64_t build_bytes(const std::filesystem::path& version);

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
  /// Of the files at those paths below the build, in their order; reads those that somebody may
  /// have written into since the build was checked. Absent where one is not what it was, or was
  /// never there.
  Sums sums_if_intact(std::span<const std::string> paths) const;

  /// Of the file at that path, which looks so; absent where only reading it would tell.
  std::optional<transfer::Digest> sum_if_untouched(const std::string& path,
                                                   const struct stat& status) const;

  /// Those that begin so.
  std::vector<std::string> paths_from(const std::string& start) const;

 private:
  std::filesystem::path version_;
  std::map<std::string, std::string> lines_;  // By path.
  bool was_checked_ = false;                  // Since the machine was booted.
};

/// What the files that both have take up together.
std::uint64_t bytes_in_both(const std::filesystem::path& version,
                            const std::filesystem::path& other);

/// Of files that were put there just now, by their path below the build.
using ReceivedFiles = std::unordered_map<std::string, transfer::ReceivedFile>;

/// Compares every file with its manifest, reading those that were not received just now. What has
/// been added is damage, too, but for what Python caches. Throws not_found where there is no
/// manifest, remote where it cannot be read.
VerifyAnswer verify_manifest(const std::filesystem::path& version,
                             const ReceivedFiles& received = {});

}  // namespace fastgpu::agent
