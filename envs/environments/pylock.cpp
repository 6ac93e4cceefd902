#include "envs/environments/pylock.hpp"

#include <algorithm>
#include <string_view>

#include "agent/protocol/package_name.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "envs/environments/fields.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kPackage = "[[packages]]";
constexpr auto kNone = std::string_view::npos;

/// Throws for text that needs escapes: uv's output (names, versions, addresses, sums) is plain
/// ASCII.
void check_plain(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f' && c != '\\'; })) return;
  constexpr std::size_t kMost = 100;
  throw Error(ErrorKind::remote, "the answer of uv has '" + printable(text, kMost) +
                                     "', which is not a name, version, address or checksum");
}

/// Returns the text in quotes behind `key = `, from `at` on, and moves `at` past it; empty if
/// missing. Throws as check_plain.
std::string_view quoted_after(std::string_view text, std::string_view key, std::size_t& at) {
  const auto found = text.find(std::string(key) + " = \"", at);
  if (found == kNone) return {};
  const auto begin = found + key.size() + 4;
  const auto end = text.find('"', begin);
  if (end == kNone) return {};
  at = end;
  const std::string_view found_text = text.substr(begin, end - begin);
  check_plain(found_text);
  return found_text;
}

std::string_view first_quoted(std::string_view text, std::string_view key) {
  std::size_t at = 0;
  return quoted_after(text, key, at);
}

/// Returns the number in "size = 123"; 0 if the index lacks it, or has an impossible one.
std::uint64_t size_in(std::string_view text) {
  constexpr std::string_view kSize = "size = ";
  const auto found = text.find(kSize);
  if (found == kNone) return 0;
  text.remove_prefix(found + kSize.size());
  const std::uint64_t size = leading_number<std::uint64_t>(text).value_or(0);
  return size > kLargestArtefact ? 0 : size;
}

/// Returns the files behind `key = `, a list or one file; only those with an address and a sum.
std::vector<Artefact> read_files(std::string_view block, std::string_view key) {
  std::vector<Artefact> files;
  const auto found = block.find(key);
  if (found == kNone) return files;
  std::size_t at = found;
  for (;;) {
    const std::string url(quoted_after(block, "url", at));
    if (url.empty()) return files;
    const std::size_t after = at;
    const std::string sha256(quoted_after(block, "sha256", at));
    if (sha256.empty()) continue;
    files.push_back({.package = std::string(first_quoted(block, "\nname")),
                     .version = std::string(first_quoted(block, "\nversion")),
                     .url = url,
                     .sha256 = sha256});
    files.back().bytes = size_in(block.substr(after, at - after));
  }
}

/// Reads the file of a requirement that names it, by its address or as a file of the node.
std::vector<Artefact> read_archive(std::string_view block) {
  const auto found = block.find("\narchive = ");
  if (found == kNone) return {};
  std::string_view line = block.substr(found + 1);
  line = line.substr(0, line.find('\n'));
  std::string url(first_quoted(line, "url"));
  if (url.empty())
    if (const std::string path(first_quoted(line, "path")); !path.empty()) url = "file:" + path;
  const std::string sha256(first_quoted(line, "sha256"));
  if (url.empty() || sha256.empty()) return {};
  Artefact artefact{.package = std::string(first_quoted(block, "\nname")),
                    .version = std::string(first_quoted(block, "\nversion")),
                    .url = url,
                    .sha256 = sha256};
  artefact.bytes = size_in(line);
  artefact.is_source = !url.ends_with(".whl");
  return {artefact};
}

/// Returns the source of a package that may be built; empty if it has none.
std::vector<Artefact> read_source(std::string_view block) {
  std::vector<Artefact> source = read_files(block, "\nsdist = ");
  if (source.size() > 1) source.resize(1);
  for (Artefact& one : source)
    one.is_source = true;
  return source;
}

std::vector<Artefact> read_package(std::string_view block,
                                   const std::vector<std::string>& sources) {
  const std::string name(first_quoted(block, "\nname"));
  std::vector<Artefact> files = read_files(block, "\nwheels = ");
  if (!files.empty()) return files;
  files = read_archive(block);
  if (!files.empty() && !files.front().is_source) return files;
  const std::string what =
      "'" + printable(name) + " " + printable(std::string(first_quoted(block, "\nversion"))) + "'";
  if (files.empty()) files = read_source(block);
  if (files.empty())
    throw Error(ErrorKind::remote,
                what + " has no wheel with an address and a SHA-256 in the package index");
  if (!contains(sources, agent::normalized_package_name(name)))
    throw Error(ErrorKind::remote, what +
                                       " has no suitable wheel, only its source: write sources: [" +
                                       printable(name) + "] in env.yaml to build it");
  return files;
}

std::string size_of(const Artefact& artefact) {
  return artefact.bytes == 0 ? "" : ", size = " + std::to_string(artefact.bytes);
}

std::string quoted(const std::string& text) {
  return yaml_scalar(text);  // TOML's basic strings are JSON's.
}

/// Returns the tools' sums: a build with other tools is another build.
std::string built_with(const std::vector<Artefact>& build_tools) {
  std::string out = "tool = { fastgpu = { built-with = [\n";
  for (const Artefact& tool : build_tools)
    out += "    { sha256 = " + quoted(tool.sha256) + " },\n";
  return out + "] } }\n";
}

std::string file_text(const Artefact& artefact) {
  return "{ url = " + quoted(artefact.url) + size_of(artefact) +
         ", hashes = { sha256 = " + quoted(artefact.sha256) + " } }";
}

}  // namespace

std::vector<Artefact> read_pylock(const std::string& text,
                                  const std::vector<std::string>& sources) {
  std::vector<Artefact> artefacts;
  std::string_view rest = text;
  for (auto at = rest.find(kPackage); at != kNone; at = rest.find(kPackage)) {
    rest.remove_prefix(at + kPackage.size());
    const auto files = read_package(rest.substr(0, rest.find(kPackage)), sources);
    artefacts.insert(artefacts.end(), files.begin(), files.end());
  }
  return artefacts;
}

std::string write_pylock(const std::vector<Artefact>& artefacts,
                         const std::vector<Artefact>& build_tools) {
  std::string out = "lock-version = \"1.0\"\ncreated-by = \"fastgpu\"\n";
  if (artefacts.empty()) out += "packages = []\n";
  for (std::size_t i = 0; i < artefacts.size();) {
    const std::string& name = artefacts[i].package;
    const std::string& version = artefacts[i].version;
    out += "\n" + std::string(kPackage) + "\nname = " + quoted(name) +
           "\nversion = " + quoted(version) + "\n";
    if (artefacts[i].is_source) {
      out += "sdist = " + file_text(artefacts[i++]) + "\n" + built_with(build_tools);
      continue;
    }
    out += "wheels = [\n";
    for (; i < artefacts.size() && artefacts[i].package == name && artefacts[i].version == version;
         ++i)
      out += "    " + file_text(artefacts[i]) + ",\n";
    out += "]\n";
  }
  return out;
}

}  // namespace fastgpu::envs
