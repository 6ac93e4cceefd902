// Pythons that come out of an archive: one that env.yaml names, or a known one where a node has
// none that fits.
#pragma once

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

/// Which archive an environment's Python comes out of: the one that its spec names, else, where the
/// node that builds has none of the version that is wanted, the newest known one. Nothing where
/// the node's own is taken, or packages bring one. `found` is the version of the node's that fits,
/// or empty. Throws not_found, saying what works, where there is neither.
std::optional<PythonArchive> choose_python(const EnvironmentSpec& spec, const std::string& found,
                                           const std::string& machine,
                                           const std::vector<KnownPython>& known);

/// Whether choose_python has to know what the node has.
bool wants_nodes_python(const EnvironmentSpec& spec);

/// A known archive's address where `mirror` stands for what they all begin with; any other one as
/// it is, and all of them where `mirror` is empty.
std::string at_mirror(const std::string& url, std::string_view mirror);

/// The archive, in `directory`: kept from earlier, or fetched (from the mirror) and checked. Throws
/// as fetch_pinned.
std::filesystem::path fetch_python(const PythonArchive& archive, std::string_view mirror,
                                   const std::filesystem::path& directory, http::Client& http,
                                   const Cancel& cancel);

}  // namespace fastgpu::envs
