// `env-status`: reports the environments on this node. Creates a place for them if requested.
#include <sys/statvfs.h>

#include <algorithm>
#include <sstream>

#include "agent/environments/environment_call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/place.hpp"
#include "agent/environments/used_prefixes.hpp"
#include "agent/files/disk.hpp"
#include "agent/options.hpp"
#include "base/ascii.hpp"
#include "base/contains.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

std::uint64_t free_bytes(fs::path path) {
  while (!fs::exists(path) && path.has_relative_path())
    path = path.parent_path();
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

/// Returns the driver's version, "580.95.05" in "NVRM version: NVIDIA UNIX x86_64 Kernel Module
/// 580.95.05  Tue ...".
std::string driver_version() {
  std::istringstream words(read_file("/proc/driver/nvidia/version").value_or(""));
  for (std::string word; words >> word;)
    if (is_ascii_digit(word.front()) && word.find('.') != std::string::npos) return word;
  return "";
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory(failure) && !entry.is_symlink() && !name.starts_with('.'))
      names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// Returns the version of the toolkit at a path, such as "8.5.0"; "" if it is missing.
std::string cann_version(const fs::path& toolkit) {
  constexpr std::string_view kKey = "version=";
  std::istringstream lines(
      read_file(toolkit / (machine_name() + "-linux") / "ascend_toolkit_install.info")
          .value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  return "";
}

/// Returns the versions in the directories of Huawei's installers. The directories differ from 8.5
/// on.
std::vector<std::string> cann_versions() {
  std::vector<fs::path> toolkits;
  for (const fs::path& place : {fs::path("/usr/local/Ascend"), below_home("Ascend")}) {
    toolkits.insert(toolkits.end(), {place / "cann", place / "ascend-toolkit/latest"});
    for (const std::string& name : names_in(place))
      if (name.starts_with("cann")) toolkits.push_back(place / name);
    for (const std::string& name : names_in(place / "ascend-toolkit"))
      toolkits.push_back(place / "ascend-toolkit" / name);
  }
  std::vector<std::string> versions;
  for (const fs::path& toolkit : toolkits) {
    const std::string version = cann_version(toolkit);
    if (!version.empty() && !contains(versions, version)) versions.push_back(version);
  }
  return versions;
}

FoundVersion found(const fs::path& version, const std::string& current) {
  FoundVersion out{.name = version.parent_path().filename(),
                   .version = version.filename(),
                   .spec = {},
                   .manifest = manifest_sum(version),
                   .current = version.filename() == current};
  if (!out.manifest.empty()) out.spec = spec_sum(version);
  return out;
}

EnvironmentStatus environment_status(const EnvironmentPlaces& places) {
  EnvironmentStatus status{.prefix = places.prefix.string(),
                           .machine = machine_name(),
                           .libc = libc_name(),
                           .driver = driver_version(),
                           .cann = cann_versions(),
                           .free_bytes = free_bytes(places.prefix),
                           .active = fs::path(link_target(places.active())).filename(),
                           .tools = names_in(places.tools("")),
                           .versions = {}};
  for (const std::string& name : names_in(places.prefix)) {
    if (!is_environment(places.prefix / name)) continue;
    const std::string current = link_target(places.current(name));
    for (const std::string& version : names_in(places.prefix / name))
      status.versions.push_back(found(places.version(name, version), current));
  }
  return status;
}

}  // namespace

int run_env_status(Arguments arguments) {
  return run_call([&] {
    OptionReader options(arguments);
    const auto prepared = options.take_value("--prepare");
    const auto cluster = options.take_value("--cluster");
    const auto places = places_at(options.done() ? "" : options.take_word("the prefix"));
    options.expect_end();
    if (prepared) {
      check_environment_name(*prepared);
      make_prefix(places);
      fs::create_directory(places.prefix / *prepared);
      if (cluster) note_used_prefix(*cluster, places);
    }
    EnvironmentStatus status = environment_status(places);
    if (cluster) status.used_prefixes = used_prefixes(*cluster);
    write_answer(Records(to_text(status), "status"));
  });
}

}  // namespace fastgpu::agent
