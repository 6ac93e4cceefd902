// env.yaml: an environment as a user writes it down.
#pragma once

#include <cstdint>
#include <optional>
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
/// Whose Open MPI: a package among the others, or that of the nodes.
enum class Mpi : std::uint8_t { package, system };
std::string word_for(Mpi mpi);
/// Which version of a package is taken where several indexes have it.
enum class IndexStrategy : std::uint8_t {
  first_match,  ///< A version of the first index that has the package, whatever the others have.
  best_match,   ///< The highest of all: whoever may add to one index decides for all of them.
};
std::string word_for(IndexStrategy strategy);
enum class Bytecode : std::uint8_t {
  compiled,  ///< Of every module, where it is built.
  none,      ///< Python compiles a module when it first imports it.
};
std::string word_for(Bytecode bytecode);

/// An interpreter with its library in a folder `python`, packed by tar.
struct PythonArchive {
  std::string url;
  std::string sha256;
};

/// What an environment is to hold. Two equal ones have equal texts, see to_yaml.
struct EnvironmentSpec {
  std::string name;
  /// "3.11", or for uv the interpreter's path on the nodes; empty where an archive has it, or with
  /// conda: whichever the packages bring.
  std::string python = "3";
  std::optional<PythonArchive> python_archive{};  ///< uv: in place of the nodes' own.
  std::vector<std::string> packages;              ///< Requirements: "numpy<2.3"
  /// uv: which packages may be built from source where no wheel of them fits, by their normalised
  /// names, sorted.
  std::vector<std::string> sources{};
  Builder builder = Builder::uv;
  std::vector<std::string> channels{};  ///< conda: names or addresses, the first wins.
  Mpi mpi = Mpi::package;
  Bytecode bytecode = Bytecode::compiled;
  NodeNeeds needs{};
  /// A name of the matrix: which frameworks install-frameworks installs; may be empty. A file may
  /// leave the accelerator open, what is installed does not.
  std::string from{};
  std::vector<std::string> index{};  ///< In place of PyPI; the first that has a package wins.
  IndexStrategy index_strategy = IndexStrategy::first_match;
  /// uv: packages that come from one index alone, and its address; no other package does.
  std::vector<std::pair<std::string, std::string>> index_for{};
  /// The user names and passwords of index, index_for and channels, which have none themselves: for
  /// this run alone, and no part of to_yaml.
  IndexLogins logins{};
  std::vector<std::pair<std::string, std::string>> variables{};
  std::vector<std::vector<std::string>> post_install{};  ///< Commands, run once where it is built.
};

/// Throws ErrorKind::usage for a line of `packages` that a builder would take for an option, a file
/// or an address with a password, and for options of pip other than --hash.
void check_package_line(const std::string& line);

/// Its address and its sum. Throws as read_environment_spec.
PythonArchive read_python_archive(const config::Value& value);

/// Throws ErrorKind::usage with line and column for what cannot be.
EnvironmentSpec read_environment_spec(const config::Value& root);

/// In one spelling, so that its sum is that of what it says.
std::string to_yaml(const EnvironmentSpec& spec);
/// The SHA-256 of to_yaml.
std::string sum_of(const EnvironmentSpec& spec);

}  // namespace fastgpu::envs
