// Pythons that come out of an archive: one that env.yaml names, or a known one where a node has
// none that fits. It is the environment's, or runs what builds.
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

/// Those of pythons.yaml.
std::vector<KnownPython> builtin_pythons();
/// As that file is written; `source` names it in errors. Throws ErrorKind::usage with the place.
std::vector<KnownPython> parse_pythons(const std::string& text, const std::string& source);

/// The environment's own, or the one that runs its builder and is no part of it.
enum class PythonUse : std::uint8_t { environment, builder };

/// A Python that the node which builds has, or else gets out of an archive.
struct NeededPython {
  PythonUse use = PythonUse::environment;
  std::string version{};  ///< "3.11": one of these; for the builder a newer one, too.
};

/// Absent where the spec names a path or an archive.
std::optional<NeededPython> needed_python(const EnvironmentSpec& spec);
/// "Python 3.10 or newer"
std::string to_string(const NeededPython& needed);

/// Which archive the node that builds gets a Python out of: the one that the spec names, else,
/// where it has none that is needed, the newest known one. Nothing where its own is taken. `found`
/// is the version of the node's that fits, or empty. Throws not_found, saying what works, where
/// there is neither.
std::optional<PythonArchive> choose_python(const EnvironmentSpec& spec, const std::string& found,
                                           const std::string& machine,
                                           const std::vector<KnownPython>& known);

/// A known archive's address where `mirror` stands for what they all begin with; any other one as
/// it is, and all of them where `mirror` is empty.
std::string at_mirror(const std::string& url, std::string_view mirror);

/// The archive, in `directory`: kept from earlier or fetched (from the mirror), its sum compared
/// each time. Throws as fetch_kept.
std::filesystem::path fetch_python(const PythonArchive& archive, PythonUse use,
                                   std::string_view mirror, const std::filesystem::path& directory,
                                   http::Client& http, const Cancel& cancel);

}  // namespace fastgpu::envs
