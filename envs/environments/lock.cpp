#include "envs/environments/lock.hpp"

#include <algorithm>
#include <map>

#include "base/names.hpp"
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

std::string body_of(const EnvironmentLock& lock) {
  std::string out =
      "# Written by fastgpu env lock. A change by hand makes it invalid.\n"
      "lock: 1\nfastgpu: " +
      yaml_scalar(lock.fastgpu) + "\nbuilder: " + yaml_scalar(lock.builder) +
      "\nmachine: " + yaml_scalar(lock.machine) + "\nlibc: " + yaml_scalar(lock.libc) +
      "\npython: " + yaml_scalar(lock.python) +
      "\npython_version: " + yaml_scalar(lock.python_version) + "\nspec:\n" +
      indented(to_yaml(lock.spec)) + "artefacts:\n";
  for (const Artefact& artefact : lock.artefacts) {
    out += "  - package: " + yaml_scalar(artefact.package) +
           "\n    version: " + yaml_scalar(artefact.version) +
           "\n    url: " + yaml_scalar(artefact.url) + "\n    sha256: " + artefact.sha256 + "\n";
    if (!artefact.record.empty()) out += "    record: " + yaml_scalar(artefact.record) + "\n";
  }
  return out;
}

Value need(const Value& map, const char* key) {
  if (auto value = map.find(key)) return *value;
  throw map.error(std::string("'") + key + "' is missing");
}

std::string sha256_of(const Value& value) {
  constexpr std::size_t kDigits = 64;
  std::string text = value.text();
  if (text.size() != kDigits || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw value.error("'" + printable(text) + "' is no SHA-256 of 64 hexadecimal digits");
  return text;
}

Artefact read_artefact(const Value& value) {
  value.allow_only({"package", "version", "url", "sha256", "record"});
  const auto record = value.find("record");
  return {.package = need(value, "package").text(),
          .version = need(value, "version").text(),
          .url = need(value, "url").text(),
          .sha256 = sha256_of(need(value, "sha256")),
          .record = record ? record->text() : ""};
}

/// Throws where the text before the last line does not have the sum that this line says.
void check_sum(const std::string& text, const Value& root) {
  const std::string said = sha256_of(need(root, "sum"));
  const auto at = text.rfind("\n" + std::string(kSumLine));
  if (at != std::string::npos && transfer::sha256_hex(text.substr(0, at + 1)) == said) return;
  throw root.error("the lock was changed after it had been written; lock again: fastgpu env lock");
}

using Packages = std::map<std::string, std::pair<std::string, std::string>>;

/// By name: the version, and the sums of its artefacts.
Packages packages_of(const EnvironmentLock& lock) {
  Packages packages;
  for (const Artefact& artefact : lock.artefacts) {
    auto& [version, sums] = packages[artefact.package];
    version = artefact.version;
    sums += artefact.sha256;
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

}  // namespace

std::string to_text(const EnvironmentLock& lock) {
  const std::string body = body_of(lock);
  return body + std::string(kSumLine) + transfer::sha256_hex(body) + "\n";
}

EnvironmentLock parse_lock(const std::string& text, const std::string& source) {
  const auto document = config::Document::parse(text, source);
  const Value root = document.root();
  root.allow_only({"lock", "fastgpu", "builder", "machine", "libc", "python", "python_version",
                   "spec", "artefacts", "sum"});
  need(root, "lock").integer(1, 1);
  check_sum(text, root);
  EnvironmentLock lock{.spec = read_environment_spec(need(root, "spec")),
                       .builder = need(root, "builder").text(),
                       .fastgpu = need(root, "fastgpu").text(),
                       .machine = need(root, "machine").text(),
                       .libc = need(root, "libc").text(),
                       .python = need(root, "python").text(),
                       .python_version = need(root, "python_version").text(),
                       .artefacts = {}};
  if (const auto artefacts = root.find("artefacts"))  // None is written as nothing.
    for (const Value& item : artefacts->list())
      lock.artefacts.push_back(read_artefact(item));
  return lock;
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
  compare(out, "machine", before.machine, after.machine);
  compare(out, "builder", before.builder, after.builder);
  compare(out, "fastgpu", before.fastgpu, after.fastgpu);
  Packages old = packages_of(before);
  Packages fresh = packages_of(after);
  for (const auto& [name, package] : old)
    fresh.try_emplace(name);
  for (const auto& [name, package] : fresh) {
    const auto& [version, sums] = old[name];
    compare(out, name, version, package.first);
    if (version == package.first && sums != package.second)
      out.push_back("~ " + name + " " + version + " has other artefacts");
  }
  if (before.spec.variables != after.spec.variables) out.emplace_back("~ variables differ");
  if (before.spec.post_install != after.spec.post_install)
    out.emplace_back("~ post_install differs");
  return out;
}

}  // namespace fastgpu::envs
