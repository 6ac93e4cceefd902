#include "envs/environments/python_archive.hpp"

#include <algorithm>

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

Value need(const Value& map, const char* key) {
  if (auto value = map.find(key)) return *value;
  throw map.error(std::string("'") + key + "' is missing");
}

KnownPython read_known(const Value& row, const std::string& base) {
  row.allow_only({"version", "machine", "file", "sha256"});
  return {.version = need(row, "version").text(),
          .machine = need(row, "machine").text(),
          .archive = {.url = base + "/" + need(row, "file").text(),
                      .sha256 = need(row, "sha256").text()}};
}

/// The newest of those that fit.
const KnownPython* find_known(const std::vector<KnownPython>& known, const std::string& wanted,
                              const std::string& machine) {
  const KnownPython* newest = nullptr;
  for (const KnownPython& one : known)
    if (one.machine == machine && covers(wanted, one.version) &&
        (newest == nullptr || compare_versions(one.version, newest->version) > 0))
      newest = &one;
  return newest;
}

std::string versions_for(const std::vector<KnownPython>& known, const std::string& machine) {
  std::string versions;
  for (const KnownPython& one : known)
    if (one.machine == machine) versions += (versions.empty() ? "" : ", ") + one.version;
  return versions.empty() ? "none for " + machine : versions;
}

}  // namespace

std::vector<KnownPython> builtin_pythons() {
  return parse_pythons(kText, "pythons.yaml");
}

std::vector<KnownPython> parse_pythons(const std::string& text, const std::string& source) {
  const auto document = config::Document::parse(text, source);
  const Value root = document.root();
  root.allow_only({"date", "base", "archives"});
  const std::string base = need(root, "base").text();
  std::vector<KnownPython> known;
  for (const Value& row : need(root, "archives").list())
    known.push_back(read_known(row, base));
  return known;
}

bool wants_nodes_python(const EnvironmentSpec& spec) {
  return spec.builder == Builder::uv && !spec.python_archive && !spec.python.starts_with('/');
}

std::optional<PythonArchive> choose_python(const EnvironmentSpec& spec, const std::string& found,
                                           const std::string& machine,
                                           const std::vector<KnownPython>& known) {
  if (!wants_nodes_python(spec)) return spec.python_archive;
  if (!found.empty()) return std::nullopt;
  if (const KnownPython* const one = find_known(known, spec.python, machine)) return one->archive;
  throw Error(ErrorKind::not_found,
              "there is no Python " + spec.python +
                  " on this node, and no archive of it is known (" + versions_for(known, machine) +
                  "): install it there, name another one or an archive as 'python' in env.yaml, or "
                  "let conda bring it (--builder conda)");
}

std::string at_mirror(const std::string& url, std::string_view mirror) {
  if (mirror.empty() || !url.starts_with(kBase)) return url;
  while (mirror.ends_with('/'))
    mirror.remove_suffix(1);
  return std::string(mirror) + "/" + url.substr(kBase.size());
}

std::filesystem::path fetch_python(const PythonArchive& archive, std::string_view mirror,
                                   const std::filesystem::path& directory, http::Client& http,
                                   const Cancel& cancel) {
  const auto file = directory / ("python-" + archive.sha256 + ".tar");
  if (std::filesystem::exists(file)) return file;
  const std::string url = at_mirror(archive.url, mirror);
  const std::string bytes =
      fetch_pinned({.url = url, .sha256 = archive.sha256},
                   "it is the environment's Python: --python-mirror names another place, 'python' "
                   "in env.yaml another archive",
                   http, cancel);
  state::make_private_directory(directory);
  state::write_private_file(file, bytes);
  return file;
}

}  // namespace fastgpu::envs
