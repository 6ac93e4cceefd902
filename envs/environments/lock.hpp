// env.lock: an environment solved, every artefact with its address and sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/document.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::envs {

/// The limit in bytes; a lock with a larger size is refused.
inline constexpr std::uint64_t kLargestArtefact = std::uint64_t{1} << 50;

/// One file that is installed.
struct Artefact {
  std::string package;
  std::string version;
  std::string url;
  std::string sha256;
  /// conda: its entry in the channel's index, as JSON; empty for a wheel beside conda packages.
  std::string record{};
  std::uint64_t bytes = 0;  ///< uv: its size, if the index has it; else 0.
  bool is_source = false;   ///< uv: the installed package is built from it.
  friend bool operator==(const Artefact&, const Artefact&) = default;
};

struct EnvironmentLock {
  EnvironmentSpec spec;
  std::string builder;  ///< "uv 0.13.9", "py-rattler 0.28.0", "py-rattler 0.28.0, uv 0.13.9"
  std::string fastgpu;  ///< Our own version: the library that comes with it.
  std::string machine;  ///< "x86_64"
  std::string libc;     ///< The solving node's: "glibc 2.36".
  std::string python;   ///< uv: the interpreter's path on the nodes.
  /// uv: the archive of an interpreter that the spec does not name, and the node did not have.
  std::optional<PythonArchive> python_archive{};
  std::string python_version;       ///< "3.11.2"; empty if conda installs none.
  std::vector<Artefact> artefacts;  ///< Sorted by package.
  /// uv: the tools that build the sources, which are not part of the environment.
  std::vector<Artefact> build_tools{};
};

/// Returns the artefacts that packages are built from.
std::vector<Artefact> sources_in(const EnvironmentLock& lock);

/// Returns the lock as a file's text; its last line has the SHA-256 of everything before it.
std::string to_text(const EnvironmentLock& lock);

/// Throws ErrorKind::usage with line and column for an invalid lock, and for a text that was edited
/// by hand.
EnvironmentLock parse_lock(const std::string& text, const std::string& source);

/// Returns the lock of `spec` if its packages, Python and indexes equal those of an earlier lock;
/// otherwise absent. It then need not be solved again.
std::optional<EnvironmentLock> adopt(const EnvironmentLock& earlier, const EnvironmentSpec& spec,
                                     const std::string& fastgpu);

/// Returns the archive of its Python: its own, or its spec's; absent if it is the nodes' Python.
std::optional<PythonArchive> archive_of(const EnvironmentLock& lock);

/// Returns whether a document is a lock and not an env.yaml.
bool is_lock(const config::Document& document);

/// Returns the name of its build: the first digits of its SHA-256.
std::string version_of(const EnvironmentLock& lock);

/// Returns the differences, a line each: "~ numpy 2.2.6 -> 2.3.0". Empty only if the texts are
/// equal.
std::vector<std::string> differences(const EnvironmentLock& before, const EnvironmentLock& after);

}  // namespace fastgpu::envs
