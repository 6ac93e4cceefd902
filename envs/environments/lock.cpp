#include "envs/environments/lock.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "agent/protocol/index_login.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "envs/environments/fields.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

constexpr std::size_t kVersionDigits = 12;
constexpr std::string_view kSumLine = "sum: ";

std::string indented(const std::string& text) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    out += "  " + text.substr(from, end - from + 1);
  return out;
}

std::string archive_text(const EnvironmentLock& lock) {
  if (!lock.python_archive) return "";
  return "\npython_archive:\n  archive: " + yaml_scalar(lock.python_archive->url) +
         "\n  sha256: " + lock.python_archive->sha256;
}

std::string list_text(const char* key, const std::vector<Artefact>& artefacts) {
  std::string out = std::string(key) + ":\n";
  for (const Artefact& artefact : artefacts) {
    out += "  - package: " + yaml_scalar(artefact.package) +
           "\n    version: " + yaml_scalar(artefact.version) +
           "\n    url: " + yaml_scalar(artefact.url) + "\n    sha256: " + artefact.sha256 + "\n";
    if (artefact.is_source) out += "    source: true\n";
    if (artefact.bytes > 0) out += "    bytes: " + std::to_string(artefact.bytes) + "\n";
    if (!artefact.record.empty()) out += "    record: " + yaml_scalar(artefact.record) + "\n";
  }
  return out;
}

std::string body_of(const EnvironmentLock& lock) {
  std::string out =
      "# Written by fastgpu env lock. A change by hand makes it invalid.\n"
      "lock: 1\nfastgpu: " +
      yaml_scalar(lock.fastgpu) + "\nbuilder: " + yaml_scalar(lock.builder) +
      "\nmachine: " + yaml_scalar(lock.machine) + "\nlibc: " + yaml_scalar(lock.libc) +
      "\npython: " + yaml_scalar(lock.python) +
      "\npython_version: " + yaml_scalar(lock.python_version) + archive_text(lock) + "\nspec:\n" +
      indented(to_yaml(lock.spec)) + list_text("artefacts", lock.artefacts);
  if (!lock.build_tools.empty()) out += list_text("build_tools", lock.build_tools);
  return out;
}

Value need(const Value& map, const char* key) {
  if (auto value = map.find(key)) return *value;
  throw map.error(std::string("'") + key + "' is missing");
}

std::uint64_t bytes_of(const Value& value) {
  const std::string text = value.text();
  const auto bytes = to_number<std::uint64_t>(text);
  if (!bytes || *bytes > kLargestArtefact)
    throw value.error("'" + printable(text) + "' is not a number of bytes");
  return *bytes;
}

bool is_yes(const Value& value) {
  if (value.text() != "true") throw value.error("must be true or absent");
  return true;
}

Artefact read_artefact(const Value& value) {
  value.allow_only({"package", "version", "url", "sha256", "source", "bytes", "record"});
  const auto record = value.find("record");
  const auto bytes = value.find("bytes");
  const auto source = value.find("source");
  const std::string url = need(value, "url").text();
  if (agent::has_login(url))
    throw need(value, "url")
        .error("'" + printable(agent::hide_logins(url)) +
               "' contains a password: lock again with fastgpu env lock");
  return {.package = need(value, "package").text(),
          .version = need(value, "version").text(),
          .url = url,
          .sha256 = sha256_of(need(value, "sha256")),
          .record = record ? record->text() : "",
          .bytes = bytes ? bytes_of(*bytes) : 0,
          .is_source = source && is_yes(*source)};
}

std::vector<Artefact> read_artefacts(const std::optional<Value>& list) {
  std::vector<Artefact> artefacts;
  if (!list) return artefacts;  // An empty list is not written.
  for (const Value& item : list->list())
    artefacts.push_back(read_artefact(item));
  return artefacts;
}

/// Checks that every source is named in `sources`, and that there are tools to build it.
void check_sources(const EnvironmentLock& lock, const Value& root) {
  const auto& named = lock.spec.sources;
  for (const Artefact& source : sources_in(lock))
    if (!contains(named, agent::normalized_package_name(source.package)))
      throw need(root, "artefacts")
          .error("'" + printable(source.package) + "' has a source, but is not in 'sources'");
  if (!sources_in(lock).empty() && lock.build_tools.empty())
    throw root.error("it has sources, but no 'build_tools' to build them");
}

/// Throws if the text before the last line does not have the SHA-256 in that line.
void check_sum(const std::string& text, const Value& root) {
  const std::string said = sha256_of(need(root, "sum"));
  const auto at = text.rfind("\n" + std::string(kSumLine));
  if (at != std::string::npos && transfer::sha256_hex(text.substr(0, at + 1)) == said) return;
  throw root.error("the lock was changed by hand; lock again with fastgpu env lock");
}

/// A package's artefacts in one text each.
struct PackageEntry {
  std::string version;
  std::string sums;
  std::string addresses;
};
using LockedPackages = std::map<std::string, PackageEntry>;

LockedPackages packages_of(const std::vector<Artefact>& artefacts, const std::string& what = "") {
  LockedPackages packages;
  const bool has_conda = std::ranges::any_of(
      artefacts, [](const Artefact& artefact) { return !artefact.record.empty(); });
  for (const Artefact& artefact : artefacts) {
    const bool is_beside = has_conda && artefact.record.empty();
    PackageEntry& package = packages[what + (is_beside ? "wheel " : "") + artefact.package];
    package.version = artefact.version;
    package.sums += artefact.sha256;
    package.addresses += artefact.url + " " + artefact.record + "\n";
  }
  return packages;
}

void compare(std::vector<std::string>& out, const std::string& what, const std::string& before,
             const std::string& after) {
  if (before == after) return;
  if (before.empty())
    out.push_back("+ " + what + " " + after);
  else if (after.empty())
    out.push_back("- " + what + " " + before);
  else
    out.push_back("~ " + what + " " + before + " -> " + after);
}

void compare_packages(std::vector<std::string>& out, LockedPackages before, LockedPackages after) {
  for (const auto& [name, package] : before)
    after.try_emplace(name);
  for (const auto& [name, fresh] : after) {
    const PackageEntry& old = before[name];
    compare(out, name, old.version, fresh.version);
    if (old.version != fresh.version) continue;
    if (old.sums != fresh.sums)
      out.push_back("~ " + name + " " + fresh.version + " has other artefacts");
    else if (old.addresses != fresh.addresses)
      out.push_back("~ " + name + " " + fresh.version + " comes from another address");
  }
}

std::string archive_words(const EnvironmentLock& lock) {
  const auto archive = archive_of(lock);
  return archive ? archive->url + " " + archive->sha256 : "";
}

std::string words_of(const std::vector<std::pair<std::string, std::string>>& index_for) {
  std::string words;
  for (const auto& [package, address] : index_for)
    append_item(words, package + " of " + address);
  return words;
}

/// Compares the fields of env.yaml.
void compare_specs(std::vector<std::string>& out, const EnvironmentSpec& before,
                   const EnvironmentSpec& after) {
  compare(out, "name", before.name, after.name);
  compare(out, "requested python", before.python, after.python);
  compare(out, "requested packages", joined(before.packages), joined(after.packages));
  compare(out, "requested wheels", joined(before.pip), joined(after.pip));
  compare(out, "sources", joined(before.sources), joined(after.sources));
  compare(out, "channels", joined(before.channels), joined(after.channels));
  compare(out, "index", joined(before.index), joined(after.index));
  compare(out, "index_strategy", word_for(before.index_strategy), word_for(after.index_strategy));
  compare(out, "index_for", words_of(before.index_for), words_of(after.index_for));
  compare(out, "mpi", word_for(before.mpi), word_for(after.mpi));
  compare(out, "bytecode", word_for(before.bytecode), word_for(after.bytecode));
  compare(out, "from", before.from, after.from);
  compare(out, "apt", joined(before.needs.apt), joined(after.needs.apt));
  compare(out, "driver", before.needs.driver, after.needs.driver);
  compare(out, "cuda", before.needs.cuda, after.needs.cuda);
  if (before.variables != after.variables) out.emplace_back("~ variables differ");
  if (before.post_install != after.post_install) out.emplace_back("~ post_install differs");
}

}  // namespace

std::vector<Artefact> sources_in(const EnvironmentLock& lock) {
  std::vector<Artefact> sources;
  std::ranges::copy_if(lock.artefacts, std::back_inserter(sources), &Artefact::is_source);
  return sources;
}

std::string to_text(const EnvironmentLock& lock) {
  const std::string body = body_of(lock);
  return body + std::string(kSumLine) + transfer::sha256_hex(body) + "\n";
}

EnvironmentLock parse_lock(const std::string& text, const std::string& source) {
  const auto document = config::Document::parse(text, source);
  const Value root = document.root();
  root.allow_only({"lock", "fastgpu", "builder", "machine", "libc", "python", "python_version",
                   "python_archive", "spec", "artefacts", "build_tools", "sum"});
  need(root, "lock").integer(1, 1);
  check_sum(text, root);
  EnvironmentLock lock{.spec = read_environment_spec(need(root, "spec")),
                       .builder = need(root, "builder").text(),
                       .fastgpu = need(root, "fastgpu").text(),
                       .machine = need(root, "machine").text(),
                       .libc = need(root, "libc").text(),
                       .python = need(root, "python").text(),
                       .python_version = need(root, "python_version").text(),
                       .artefacts = read_artefacts(root.find("artefacts")),
                       .build_tools = read_artefacts(root.find("build_tools"))};
  if (const auto archive = root.find("python_archive"))
    lock.python_archive = read_python_archive(*archive);
  check_sources(lock, root);
  return lock;
}

std::optional<EnvironmentLock> adopt(const EnvironmentLock& earlier, const EnvironmentSpec& spec,
                                     const std::string& fastgpu) {
  EnvironmentSpec solved = earlier.spec;
  solved.name = spec.name;
  solved.from = spec.from;
  solved.bytecode = spec.bytecode;
  solved.needs = spec.needs;
  solved.variables = spec.variables;
  solved.post_install = spec.post_install;
  if (to_yaml(solved) != to_yaml(spec)) return std::nullopt;
  EnvironmentLock lock = earlier;
  lock.spec = spec;
  lock.fastgpu = fastgpu;
  return lock;
}

std::optional<PythonArchive> archive_of(const EnvironmentLock& lock) {
  return lock.python_archive ? lock.python_archive : lock.spec.python_archive;
}

bool is_lock(const config::Document& document) {
  return document.root().is_map() && document.root().find("lock").has_value();
}

std::string version_of(const EnvironmentLock& lock) {
  return transfer::sha256_hex(to_text(lock)).substr(0, kVersionDigits);
}

std::vector<std::string> differences(const EnvironmentLock& before, const EnvironmentLock& after) {
  std::vector<std::string> out;
  compare(out, "python", before.python_version, after.python_version);
  compare(out, "interpreter", before.python, after.python);
  compare(out, "python's archive", archive_words(before), archive_words(after));
  compare(out, "machine", before.machine, after.machine);
  compare(out, "libc", before.libc, after.libc);
  compare(out, "builder", before.builder, after.builder);
  compare(out, "fastgpu", before.fastgpu, after.fastgpu);
  compare_packages(out, packages_of(before.artefacts), packages_of(after.artefacts));
  const std::string tool = "build tool ";
  compare_packages(out, packages_of(before.build_tools, tool),
                   packages_of(after.build_tools, tool));
  compare_specs(out, before.spec, after.spec);
  return out;
}

}  // namespace fastgpu::envs
