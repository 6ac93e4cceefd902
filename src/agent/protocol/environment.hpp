// Environments on a node, and the requests and answers about them.
//
// Below a prefix, the same on every node:
//   NAME/VERSION/          one build of it, named by its lock; complete once it has a manifest
//   NAME/VERSION/.fastgpu  env.yaml, env.lock, solution, activate.sh, run, manifest
//   NAME/current           a link to the VERSION in use
//   .fastgpu               tools/HASH, cache, lock, active (a link to NAME), made.HOST
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/records.hpp"
#include "base/secret.hpp"

namespace fastgpu::agent {

/// Throws ErrorKind::usage for an unusable directory name: it must have 1 to 80 of a-z, A-Z, 0-9
/// and "._-", beginning with a letter or digit.
void check_environment_name(std::string_view name);

/// The paths below a prefix. Pure.
struct EnvironmentPlaces {
  std::filesystem::path prefix;

  std::filesystem::path own() const { return prefix / ".fastgpu"; }
  std::filesystem::path tools(const std::string& hash) const { return own() / "tools" / hash; }
  std::filesystem::path active() const { return own() / "active"; }
  std::filesystem::path version(const std::string& name, const std::string& version) const {
    return prefix / name / version;
  }
  std::filesystem::path current(const std::string& name) const { return prefix / name / "current"; }
};

/// Returns the directory of an environment's own files beside its packages, within a version's
/// directory.
std::filesystem::path details_of(const std::filesystem::path& version);
std::filesystem::path manifest_of(const std::filesystem::path& version);

/// One build of an environment, as found on a node.
struct FoundVersion {
  std::string name;
  std::string version;
  std::string spec;      ///< The SHA-256 of its env.yaml; empty if it is not complete.
  std::string manifest;  ///< The SHA-256 of its manifest; empty if it is not complete.
  bool current = false;
};

struct EnvironmentStatus {
  std::string prefix;   ///< An absolute path.
  std::string machine;  ///< "x86_64"
  std::string libc;     ///< "glibc 2.36"
  /// The version of NVIDIA's loaded driver: "580.95.05"; may be empty.
  std::string driver;
  std::vector<std::string> cann;  ///< The installed versions of Huawei's toolkit: "8.5.0".
  std::uint64_t free_bytes = 0;   ///< 0 if unknown.
  std::string active;             ///< The environment of logins; may be empty.
  std::vector<std::string> tools;
  std::vector<FoundVersion> versions;
};

std::string to_text(const EnvironmentStatus& status);
EnvironmentStatus parse_environment_status(const Records& records);  ///< Throws remote.

/// The builder that solves and installs packages, and its settings.
struct BuilderChoice {
  std::string name;                   ///< "uv", or "conda".
  std::string tools;                  ///< The directory of its programs.
  std::chrono::seconds patience{30};  ///< Aborts if an index sends no data for this long.
  /// Addresses of indexes, channels and hosts of files with the user name and password for them,
  /// percent-encoded. Other addresses of a request contain no logins.
  std::vector<Secret> logins{};
  Secret proxy{};  ///< The proxy for its downloads; empty: the node's own way.
};

/// A package that is taken from one index alone.
struct PackageIndex {
  std::string package;
  std::string address;
};

struct SolveRequest {
  BuilderChoice builder;
  std::string prefix;
  std::string python;                ///< uv: "3.11", or a path.
  std::vector<std::string> indexes;  ///< uv: in their order; empty: its own.
  bool best_match = false;           ///< uv: the highest version of all indexes, not of the first.
  std::vector<PackageIndex> index_for;
  std::vector<std::string> channels;  ///< conda: names or addresses, the first wins.
  std::vector<std::string> packages;
  std::vector<std::string> sources;  ///< uv: packages that may be built from source.
};

struct SolveAnswer {
  std::string solution;        ///< The packages to install, in the builder's format.
  std::string build_tools;     ///< uv: the build tools in that format; empty: no package is built.
  std::string python;          ///< uv: the interpreter's path.
  std::string python_version;  ///< "3.11.2"; empty without a Python at the start.
  std::string machine;
  std::string libc;
  std::string builder;  ///< "uv 0.13.9"
};

Records to_records(const SolveRequest& request);
SolveRequest parse_solve_request(const Records& records);
Records to_records(const SolveAnswer& answer);
SolveAnswer parse_solve_answer(const Records& records);

struct BuildRequest {
  BuilderChoice builder;
  std::string prefix;
  std::string name;
  std::string version;
  std::string common;  ///< The directory of every environment's common files; it may be missing.
  std::string python;
  std::string python_version;  ///< The required version.
  std::string solution;        ///< The packages to install, in the builder's format.
  /// uv: the solution in parts, in their order, but for sources.
  std::vector<std::string> parts;
  /// uv: each package that is built from source, in that format.
  std::vector<std::string> sources;
  std::string source_files;      ///< The directory of their archives, each named by its SHA-256.
  std::string build_tools;       ///< uv: their build tools, in its format.
  std::vector<std::string> way;  ///< The arguments of `relay`, for a copy that begins at once.
  std::string recipe;
  std::string lock;
  std::string activate;  ///< A shell script to be sourced.
  std::string run;       ///< A program that runs its arguments in the environment.
  bool has_bytecode = true;
  std::vector<std::vector<std::string>> post_install;
};

Records to_records(const BuildRequest& request);
BuildRequest parse_build_request(const Records& records);

struct BuildAnswer {
  std::string manifest;  ///< The SHA-256 of the manifest.
  /// The nodes on the way that have the build, too: 0 is the first.
  std::vector<std::size_t> reached;
  std::vector<std::string> warnings;  ///< Sentences about its content.
};

Records to_records(const BuildAnswer& answer);
BuildAnswer parse_build_answer(const Records& records);

struct VerifyAnswer {
  std::string manifest;  ///< The SHA-256 of the manifest.
  std::uint64_t files = 0;
  std::vector<std::string> damaged;  ///< "PATH: DAMAGE", the first few.
};

Records to_records(const VerifyAnswer& answer);
VerifyAnswer parse_verify_answer(const Records& records);

}  // namespace fastgpu::agent
