// Environments as they lie on a node, and what is asked and answered about them.
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

/// Throws ErrorKind::usage for what cannot be a directory's name: 1 to 80 of a-z, A-Z, 0-9 and
/// "._-", beginning with a letter or digit.
void check_environment_name(std::string_view name);

/// Where things lie below a prefix. Pure.
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

/// What belongs to an environment beside its packages, within a version's directory.
std::filesystem::path details_of(const std::filesystem::path& version);
std::filesystem::path manifest_of(const std::filesystem::path& version);

/// One build of an environment, as it was found.
struct FoundVersion {
  std::string name;
  std::string version;
  std::string spec;      ///< The sum of its env.yaml; empty where it is not complete.
  std::string manifest;  ///< The sum of its manifest; likewise.
  bool current = false;
};

struct EnvironmentStatus {
  std::string prefix;             ///< Absolute.
  std::string machine;            ///< "x86_64"
  std::string libc;               ///< "glibc 2.36"
  std::string driver;             ///< NVIDIA's that is loaded: "580.95.05"; empty: none.
  std::vector<std::string> cann;  ///< Versions of Huawei's toolkit that lie there: "8.5.0".
  std::uint64_t free_bytes = 0;   ///< 0 where it is not known.
  std::string active;             ///< What logins get; empty: none.
  std::vector<std::string> tools;
  std::vector<FoundVersion> versions;
};

std::string to_text(const EnvironmentStatus& status);
EnvironmentStatus parse_environment_status(const Records& records);  ///< Throws remote.

/// Who solves and installs packages, and with what.
struct BuilderChoice {
  std::string name;                   ///< "uv", or "conda".
  std::string tools;                  ///< The directory of its programs.
  std::chrono::seconds patience{30};  ///< So long an index may say nothing.
  /// Addresses of indexes, channels and hosts of files with the user name and password for them,
  /// percent-encoded. No other address of a request has any.
  std::vector<Secret> logins{};
  Secret proxy{};  ///< What it fetches by; empty: by the node's own way.
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
  std::vector<std::string> indexes;  ///< uv: in their order; none: its own.
  bool best_match = false;           ///< uv: the highest version of all indexes, not of the first.
  std::vector<PackageIndex> index_for;
  std::vector<std::string> channels;  ///< conda: names or addresses, the first wins.
  std::vector<std::string> packages;
  std::vector<std::string> sources;  ///< uv: packages that may be built from source.
};

struct SolveAnswer {
  std::string solution;        ///< What there is to install, as the builder writes it.
  std::string build_tools;     ///< uv: likewise, what builds some of it; empty: none is built.
  std::string python;          ///< uv: the interpreter's path.
  std::string python_version;  ///< "3.11.2"; empty where no Python was there to begin with.
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
  std::string common;  ///< The directory of what every environment gets; it need not exist.
  std::string python;
  std::string python_version;        ///< It must be this one.
  std::string solution;              ///< What to install, as the builder reads it.
  std::vector<std::string> parts;    ///< uv: the same in parts, in their order, but for sources.
  std::vector<std::string> sources;  ///< uv: likewise, each package that is built from source.
  std::string source_files;      ///< The directory of their archives, each named by its SHA-256.
  std::string build_tools;       ///< uv: what they are built with, as it reads it.
  std::vector<std::string> way;  ///< Of a copy that is to begin at once: what `relay` is told.
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
  std::string manifest;               ///< Its sum.
  std::vector<std::size_t> reached;   ///< Who on the way has the build, too: 0 is the first.
  std::vector<std::string> warnings;  ///< Sentences about what is in it.
};

Records to_records(const BuildAnswer& answer);
BuildAnswer parse_build_answer(const Records& records);

struct VerifyAnswer {
  std::string manifest;  ///< Its sum.
  std::uint64_t files = 0;
  std::vector<std::string> damaged;  ///< "PATH: what is wrong", the first few.
};

Records to_records(const VerifyAnswer& answer);
VerifyAnswer parse_verify_answer(const Records& records);

}  // namespace fastgpu::agent
