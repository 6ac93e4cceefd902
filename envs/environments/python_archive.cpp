#include "envs/environments/python_archive.hpp"

#include "agent/protocol/conda.hpp"
#include "base/join.hpp"
#include "config/document.hpp"
#include "envs/environments/pinned_file.hpp"
#include "envs/matrix/name.hpp"
#include "state/directory.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

constexpr const char* kText =
#include "pythons.inc"
    ;
constexpr std::string_view kBase =
    "https://github.com/astral-sh/python-build-standalone/releases/download/";

Value needed_value(const Value& map, const char* key) {
  if (auto value = map.find(key)) return *value;
  throw map.error(std::string("'") + key + "' is missing");
}

KnownPython read_known(const Value& row, const std::string& base) {
  row.allow_only({"version", "machine", "file", "sha256"});
  return {.version = needed_value(row, "version").text(),
          .machine = needed_value(row, "machine").text(),
          .archive = {.url = base + "/" + needed_value(row, "file").text(),
                      .sha256 = needed_value(row, "sha256").text()}};
}

bool fits(const std::string& version, const NeededPython& needed) {
  return covers(needed.version, version) ||
         (needed.use == PythonUse::builder && compare_versions(version, needed.version) > 0);
}

/// Returns the newest one that fits.
const KnownPython* find_known(const std::vector<KnownPython>& known, const NeededPython& needed,
                              const std::string& machine) {
  const KnownPython* newest = nullptr;
  for (const KnownPython& one : known)
    if (one.machine == machine && fits(one.version, needed) &&
        (newest == nullptr || compare_versions(one.version, newest->version) > 0))
      newest = &one;
  return newest;
}

std::string versions_for(const std::vector<KnownPython>& known, const std::string& machine) {
  std::string versions;
  for (const KnownPython& one : known)
    if (one.machine == machine) append_item(versions, one.version);
  return versions.empty() ? "none for " + machine : versions;
}

/// Returns the error with the known `versions`.
Error no_python(const NeededPython& needed, const std::string& versions) {
  const std::string nowhere = "there is no " + to_string(needed) +
                              " on this node, and no archive for it (available: " + versions +
                              "): install it there, ";
  switch (needed.use) {
    case PythonUse::environment:
      return {ErrorKind::not_found, nowhere +
                                        "set another version or an archive as 'python' in "
                                        "env.yaml, or use conda (--builder conda)"};
    case PythonUse::builder:
      return {ErrorKind::not_found, nowhere +
                                        "or add an archive with --python-table: py-rattler, which "
                                        "installs conda packages, needs it"};
  }
  return {ErrorKind::not_found, nowhere};
}

std::string_view other_ways(PythonUse use) {
  switch (use) {
    case PythonUse::environment:
      return "this is the environment's Python: use another mirror with --python-mirror, or a "
             "version that the nodes have or another archive with 'python' in env.yaml";
    case PythonUse::builder:
      return "this is the Python for py-rattler: use another mirror with --python-mirror, or other "
             "archives with --python-table";
  }
  return "";
}

}  // namespace

std::vector<KnownPython> builtin_pythons() {
  return parse_pythons(kText, "pythons.yaml");
}

std::vector<KnownPython> parse_pythons(const std::string& text, const std::string& source) {
  const auto document = config::Document::parse(text, source);
  const Value root = document.root();
  root.allow_only({"date", "base", "archives"});
  const std::string base = needed_value(root, "base").text();
  std::vector<KnownPython> known;
  for (const Value& row : needed_value(root, "archives").list())
    known.push_back(read_known(row, base));
  return known;
}

std::optional<NeededPython> needed_python(const EnvironmentSpec& spec) {
  if (spec.builder == Builder::conda)
    return NeededPython{PythonUse::builder, std::string(agent::kPythonOfRattler)};
  if (spec.python_archive || spec.python.starts_with('/')) return std::nullopt;
  return NeededPython{PythonUse::environment, spec.python};
}

std::string to_string(const NeededPython& needed) {
  return "Python " + needed.version + (needed.use == PythonUse::builder ? " or newer" : "");
}

std::optional<PythonArchive> choose_python(const EnvironmentSpec& spec, const std::string& found,
                                           const std::string& machine,
                                           const std::vector<KnownPython>& known) {
  const auto needed = needed_python(spec);
  if (!needed) return spec.python_archive;
  if (!found.empty()) return std::nullopt;
  if (const KnownPython* const one = find_known(known, *needed, machine)) return one->archive;
  throw no_python(*needed, versions_for(known, machine));
}

std::string at_mirror(const std::string& url, std::string_view mirror) {
  if (mirror.empty() || !url.starts_with(kBase)) return url;
  while (mirror.ends_with('/'))
    mirror.remove_suffix(1);
  return std::string(mirror) + "/" + url.substr(kBase.size());
}

std::filesystem::path fetch_python(const PythonArchive& archive, PythonUse use,
                                   std::string_view mirror, const std::filesystem::path& directory,
                                   http::Client& http, const Cancel& cancel) {
  const auto file = directory / ("python-" + archive.sha256 + ".tar");
  const std::string url = at_mirror(archive.url, mirror);
  fetch_kept({.url = url, .sha256 = archive.sha256}, file, other_ways(use), http, cancel);
  return file;
}

}  // namespace fastgpu::envs
