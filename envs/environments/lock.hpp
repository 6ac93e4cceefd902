// env.lock: an environment solved, every artefact with its address and sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/document.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::envs {

/// In bytes; a lock that says more is refused.
inline constexpr std::uint64_t kLargestArtefact = std::uint64_t{1} << 50;

/// One file that is installed.
struct Artefact {
  std::string package;
  std::string version;
  std::string url;
  std::string sha256;
  std::string record{};     ///< conda: what its channel's index says of it, as JSON.
  std::uint64_t bytes = 0;  ///< uv: its size, where the index tells; 0 where it does not.
  bool is_source = false;   ///< uv: what is installed is built from it.
  friend bool operator==(const Artefact&, const Artefact&) = default;
};

struct EnvironmentLock {
  EnvironmentSpec spec;
  std::string builder;  ///< "uv 0.13.9", "py-rattler 0.28.0"
  std::string fastgpu;  ///< Our own version: the library that comes with it.
  std::string machine;  ///< "x86_64"
  std::string libc;     ///< "glibc 2.36": of the node that solved it.
  std::string python;   ///< uv: the interpreter's path on the nodes.
  /// uv: of an interpreter that the spec does not name, and the node did not have.
  std::optional<PythonArchive> python_archive{};
  std::string python_version;       ///< "3.11.2"; empty where conda brings none.
  std::vector<Artefact> artefacts;  ///< By package.
  /// uv: what builds those that are sources, and is not part of the environment.
  std::vector<Artefact> build_tools{};
};

/// Those that something is built from.
std::vector<Artefact> sources_in(const EnvironmentLock& lock);

/// As a file, with the sum of all that stands before it in its last line.
std::string to_text(const EnvironmentLock& lock);

/// Throws ErrorKind::usage with line and column for what cannot be, and for a text that was changed
/// by hand.
EnvironmentLock parse_lock(const std::string& text, const std::string& source);

/// The lock of `spec`, where that asks for the same packages, Python and indexes as the spec of an
/// earlier lock, and so for nothing that would have to be solved again. Absent elsewhere.
std::optional<EnvironmentLock> adopt(const EnvironmentLock& earlier, const EnvironmentSpec& spec,
                                     const std::string& fastgpu);

/// Out of which its Python comes: its own, or its spec's; nothing where it is the nodes'.
std::optional<PythonArchive> archive_of(const EnvironmentLock& lock);

/// Whether a document is a lock and not an env.yaml.
bool is_lock(const config::Document& document);

/// What names a build of it: the first digits of its sum.
std::string version_of(const EnvironmentLock& lock);

/// What differs, a line each: "~ numpy 2.2.6 -> 2.3.0". None only where the texts are the same.
std::vector<std::string> differences(const EnvironmentLock& before, const EnvironmentLock& after);

}  // namespace fastgpu::envs
