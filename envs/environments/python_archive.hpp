// Pythons from an archive: one that env.yaml names, or a known one if a node has no suitable
// Python. It is the environment's, or runs the builder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "envs/environments/spec.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

/// One release of CPython for one processor.
struct KnownPython {
  std::string version;  ///< "3.11.18"
  std::string machine;  ///< "x86_64"
  PythonArchive archive{};
};

/// Returns the Pythons of pythons.yaml.
std::vector<KnownPython> builtin_pythons();
/// Parses that file's format; `source` names it in errors. Throws ErrorKind::usage with the place.
std::vector<KnownPython> parse_pythons(const std::string& text, const std::string& source);

/// The environment's own Python, or the one that runs its builder and is not part of it.
enum class PythonUse : std::uint8_t { environment, builder };

/// A Python that the building node has, or else gets from an archive.
struct NeededPython {
  PythonUse use = PythonUse::environment;
  std::string version{};  ///< "3.11": one of these; a builder accepts newer ones, too.
};

/// Returns the needed Python; absent if the spec names a path or an archive.
std::optional<NeededPython> needed_python(const EnvironmentSpec& spec);
/// Returns "Python 3.10 or newer".
std::string to_string(const NeededPython& needed);

/// Returns the archive from which the building node gets a Python. It is the one of the spec, else,
/// if the node lacks the needed one, the newest known one; absent if its own is used. `found` is
/// the version of the node's suitable Python, or empty. Throws not_found, with the alternatives, if
/// there is neither.
std::optional<PythonArchive> choose_python(const EnvironmentSpec& spec, const std::string& found,
                                           const std::string& machine,
                                           const std::vector<KnownPython>& known);

/// Returns a known archive's address with `mirror` in place of the common beginning of all of them.
/// Other addresses stay unchanged, and so do all with an empty `mirror`.
std::string at_mirror(const std::string& url, std::string_view mirror);

/// Returns the archive, in `directory`: kept from earlier or fetched (from the mirror). Its SHA-256
/// is checked each time. Throws as fetch_kept.
std::filesystem::path fetch_python(const PythonArchive& archive, PythonUse use,
                                   std::string_view mirror, const std::filesystem::path& directory,
                                   http::Client& http, const Cancel& cancel);

}  // namespace fastgpu::envs
