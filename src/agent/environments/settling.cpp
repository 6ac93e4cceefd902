#include "agent/environments/settling.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "agent/environments/modules.hpp"
#include "agent/environments/pylock.hpp"
#include "agent/environments/shared_paths.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

using Names = std::set<std::string>;

Names names_in(const std::string& pylock) {
  Names names;
  for (const LockedPackage& one : packages_in(pylock))
    if (!one.name.empty()) names.insert(normalized_package_name(one.name));
  return names;
}

/// Returns the part of `pylock` for one package, by its normalised name.
std::string part_of(const std::string& pylock, const std::string& package) {
  Names others;
  for (const LockedPackage& one : packages_in(pylock)) {
    if (normalized_package_name(one.name) != package) {
      if (!one.name.empty()) others.insert(one.name);
    } else if (one.text.find("\nsdist = ") != std::string::npos) {
      throw Error(ErrorKind::conflict,
                  package +
                      ", which is built from source, has files that another package has "
                      "with different content: leave one of the two out");
    }
  }
  return without_packages(pylock, others);
}

/// Returns the paths of which a wheel has one, with the wheels last: their files are used.
std::vector<SharedPath> shared_with_wheels(std::vector<SharedPath> shared, const Names& wheels) {
  const auto is_wheel = [&](const std::string& name) { return wheels.contains(name); };
  std::erase_if(
      shared, [&](const SharedPath& one) { return std::ranges::none_of(one.packages, is_wheel); });
  for (SharedPath& one : shared)
    std::ranges::stable_partition(one.packages, std::not_fn(is_wheel));
  return shared;
}

}  // namespace

SettledFiles settle_wheels(const Uv& uv, const std::string& pylock,
                           const std::string& python_version, const std::filesystem::path& version,
                           Listener& listener) {
  const std::filesystem::path packages = packages_of(python_version);
  const Names wheels = names_in(pylock);
  const auto shared = shared_with_wheels(shared_paths(version, packages), wheels);
  if (shared.empty()) return {};
  listener.tell("settling shared files");
  const auto owners = owners_of(shared);
  for (const std::string& name : owners)
    if (wheels.contains(name))
      install_wheels(uv, part_of(pylock, name), version / "bin/python", listener,
                     ExistingPackages::replaced);
  return {.warnings = describe(shared), .modules = modules_of(version, packages, owners)};
}

}  // namespace fastgpu::agent
