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

/// Throws ErrorKind::usage for a name that cannot be a directory here. It must have 1 to 80
/// characters of a-z, A-Z, 0-9 and "._-", and begin with a letter or digit.
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

/// Returns the directory of an environment's own files, in addition to its packages, inside a
/// version's directory.
std::filesystem::path details_of(const std::filesystem::path& version);
std::filesystem::path manifest_of(const std::filesystem::path& version);

/// Returns the program of a version that runs the words after it in the environment.
std::filesystem::path runner_of(const std::filesystem::path& version);
/// Returns the name of the environment whose runner_of() a program is, by its path alone; empty for
/// any other program.
std::string environment_of_runner(const std::filesystem::path& program);

/// A build of an environment on a node.
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
  std::uint64_t free_bytes = 0;   ///< The free space of the disk; 0 if it is unknown.
  std::string active;             ///< The environment that logins use; may be empty.
  std::vector<std::string> tools;
  std::vector<FoundVersion> versions;
  /// All prefixes that the cluster has used on this node, if the request names the cluster.
  std::vector<std::string> used_prefixes{};
};

std::string to_text(const EnvironmentStatus& status);
EnvironmentStatus parse_environment_status(const Records& records);  ///< Throws remote.

/// The builder that solves and installs packages, and its settings.
struct BuilderChoice {
  std::string name;                        ///< "uv", or "conda".
  std::string tools;                       ///< The directory of its programs.
  std::chrono::seconds index_timeout{30};  ///< Aborts if an index sends no data for this long.
  /// Addresses of indexes, channels and file hosts with their user names and passwords,
  /// percent-encoded. The other addresses of a request contain no logins.
  std::vector<Secret> logins{};
  Secret proxy{};  ///< The proxy for its downloads; empty for the node's own setting.
};

/// A package that is taken only from one index.
struct PackageIndex {
  std::string package;
  std::string address;
};

struct SolveRequest {
  BuilderChoice builder;
  std::string prefix;
  std::string python;                ///< uv: "3.11", or a path.
  std::vector<std::string> indexes;  ///< uv: in their order; empty for uv's default.
  /// uv: takes the highest version in all indexes, not in the first one that has the package.
  bool best_match = false;
  std::vector<PackageIndex> index_for;
  std::vector<std::string> channels;  ///< conda: names or addresses. The first one has priority.
  std::vector<std::string> packages;
  std::vector<std::string> sources;   ///< uv: packages that may be built from source.
  std::vector<std::string> wheels{};  ///< conda: requirements of wheels beside the packages.
};

struct SolveAnswer {
  std::string solution;  ///< The packages to install, in the builder's format.
  std::string wheels{};  ///< conda: the wheels to install, as pylock.toml; may be empty.
  /// uv: the build tools, in the same format; empty if no package is built.
  std::string build_tools;
  std::string python;          ///< uv: the interpreter's path.
  std::string python_version;  ///< "3.11.2"; empty if the node had no Python.
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
  /// The directory of the files that every environment gets; it may be missing.
  std::string common;
  std::string python;
  std::string python_version;  ///< The version that the Python must have.
  std::string solution;        ///< The packages to install, in the builder's format.
  std::string wheels{};        ///< conda: the wheels to install beside them, as pylock.toml.
  /// The wheels in parts, in their order, without the packages built from source.
  std::vector<std::string> parts;
  /// uv: each package that is built from source, in the same format.
  std::vector<std::string> sources;
  /// The directory of their archives. Each archive is named by its SHA-256.
  std::string source_files;
  std::string build_tools;       ///< uv: the build tools for them, in the same format.
  std::vector<std::string> way;  ///< The arguments of `relay` for a copy that begins at once.
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
  /// The nodes in the chain that also have the build; 0 is the first one.
  std::vector<std::size_t> reached;
  std::vector<std::string> warnings;  ///< Sentences about the content of the build.
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
