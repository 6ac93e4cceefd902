// env.yaml: an environment in the user's own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/document.hpp"
#include "envs/environments/index_logins.hpp"
#include "envs/environments/node_needs.hpp"

namespace fastgpu::envs {

enum class Builder : std::uint8_t {
  uv,     ///< Wheels of package indexes, on a Python of the nodes.
  conda,  ///< Packages of conda channels, Python among them.
};
std::string word_for(Builder builder);
/// The source of Open MPI: a package among the others, or the nodes' own.
enum class Mpi : std::uint8_t { package, system };
std::string word_for(Mpi mpi);
/// The choice of a package's version if several indexes have it.
enum class IndexStrategy : std::uint8_t {
  first_match,  ///< A version of the first index that has the package, whatever the others have.
  /// The highest of all: a user with write access to one index decides for all of them.
  best_match,
};
std::string word_for(IndexStrategy strategy);
enum class Bytecode : std::uint8_t {
  compiled,  ///< Compiled for every module when it is built.
  none,      ///< Python compiles a module when it first imports it.
};
std::string word_for(Bytecode bytecode);

/// An interpreter with its library in a folder `python`, packed by tar.
struct PythonArchive {
  std::string url;
  std::string sha256;
};

/// The content of an environment. Two equal ones have equal texts, see to_yaml.
struct EnvironmentSpec {
  std::string name;
  /// "3.11", or for uv the interpreter's path on the nodes; empty if an archive has it, or with
  /// conda: then the packages select it.
  std::string python = "3";
  std::optional<PythonArchive> python_archive{};  ///< uv: replaces the nodes' own.
  std::vector<std::string> packages;              ///< Requirements: "numpy<2.3"
  /// uv: the packages that may be built from source if no wheel of them fits, by their normalised
  /// names, sorted.
  std::vector<std::string> sources{};
  Builder builder = Builder::uv;
  /// conda: requirements of wheels that are installed beside the packages.
  std::vector<std::string> pip{};
  std::vector<std::string> channels{};  ///< conda: names or addresses, the first wins.
  Mpi mpi = Mpi::package;
  Bytecode bytecode = Bytecode::compiled;
  NodeNeeds needs{};
  /// A name of the matrix: the frameworks that install-frameworks installs; may be empty. A file
  /// may leave the accelerator open; in an installed environment it is set.
  std::string from{};
  std::vector<std::string> index{};  ///< Replaces PyPI; the first that has a package wins.
  IndexStrategy index_strategy = IndexStrategy::first_match;
  /// uv: packages that come from one index alone, and its address; no other package uses it.
  std::vector<std::pair<std::string, std::string>> index_for{};
  /// The user names and passwords of index, index_for and channels, which contain none themselves.
  /// They are for this run alone, and not in to_yaml.
  IndexLogins logins{};
  /// Where relative paths of wheels in `packages` begin: for this run alone, as logins.
  std::filesystem::path folder{};
  std::vector<std::pair<std::string, std::string>> variables{};
  std::vector<std::vector<std::string>> post_install{};  ///< Commands, run once where it is built.
};

/// Throws ErrorKind::usage for a line of `packages` that a builder would take for an option or a
/// file. It also refuses addresses with a password, and options of pip other than --hash.
void check_package_line(const std::string& line);

/// Reads its address and its SHA-256. Throws as read_environment_spec.
PythonArchive read_python_archive(const config::Value& value);

/// Throws ErrorKind::usage with line and column for an invalid file.
EnvironmentSpec read_environment_spec(const config::Value& root);

/// Returns the spec's requirements of wheels: `packages`, or `pip` beside conda packages.
std::span<const std::string> index_requirements(const EnvironmentSpec& spec);

/// Returns the text in one canonical spelling, so that equal specs have equal sums.
std::string to_yaml(const EnvironmentSpec& spec);
/// Returns the SHA-256 of to_yaml.
std::string sum_of(const EnvironmentSpec& spec);

}  // namespace fastgpu::envs
