#include "provision/providers/local/rootless/prerequisites.hpp"

#include <cerrno>
#include <sstream>
#include <system_error>

#include "base/join.hpp"
#include "base/numbers.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::uint32_t kEnoughIds = 65'536;  // The ids up to "nobody", a user of every system.

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

/// Returns the switch that turned user namespaces off, if the system has one and shows it.
Obstacle why_no_namespaces(const RootlessFacts& facts) {
  const auto turned_off = [](const char* name, const char* wanted) {
    return Obstacle{ErrorKind::denied,
                    std::string("this system lets only root make user namespaces (") + name + ")",
                    std::string("sysctl ") + name + "=" + wanted};
  };
  if (facts.namespaces_switch == 0) return turned_off("kernel.unprivileged_userns_clone", "1");
  if (facts.most_namespaces == 0) return turned_off("user.max_user_namespaces", "15000");
  if (facts.namespace_error == ENOSPC)
    return {ErrorKind::capacity, "all user namespaces that this system allows are in use",
            "sysctl user.max_user_namespaces=N with a larger N"};
  if (facts.apparmor_switch.value_or(0) != 0)
    return turned_off("kernel.apparmor_restrict_unprivileged_userns", "0");
  return {ErrorKind::denied,
          "this system refuses user namespaces (" + reason(facts.namespace_error) + ")",
          "in a container: allow the system calls unshare, mount and setns"};
}

/// Returns the obstacle for "/etc/subuid", "usermod --add-subuids".
Obstacle no_ids(const RootlessFacts& facts, const std::string& file, const std::string& option) {
  return {ErrorKind::denied,
          "user " + facts.user + " has no " + std::to_string(kEnoughIds) + " ids in " + file,
          "usermod " + option + " 100000-165535 " + facts.user +
              ", with numbers that are not in the file yet"};
}

}  // namespace

std::vector<Obstacle> obstacles(const RootlessFacts& facts) {
  std::vector<Obstacle> found;
  if (facts.namespace_error != 0) found.push_back(why_no_namespaces(facts));
  if (facts.namespace_error == 0 && facts.proc_error != 0)
    found.push_back({ErrorKind::local,
                     "/proc cannot be mounted in a namespace (" + reason(facts.proc_error) +
                         "), as where parts of it are covered",
                     "in a container: --security-opt systempaths=unconfined"});
  if (facts.newuidmap.empty() || facts.newgidmap.empty())
    found.push_back(
        {ErrorKind::local, "newuidmap and newgidmap are missing", "apt-get install uidmap"});
  if (!facts.user_ids) found.push_back(no_ids(facts, "/etc/subuid", "--add-subuids"));
  if (!facts.group_ids) found.push_back(no_ids(facts, "/etc/subgid", "--add-subgids"));
  if (facts.fuse_overlayfs.empty())
    found.push_back(
        {ErrorKind::local, "fuse-overlayfs is missing", "apt-get install fuse-overlayfs"});
  if (facts.fuse_error == ENOENT || facts.fuse_error == ENODEV || facts.fuse_error == ENXIO) {
    found.push_back({ErrorKind::local, "there is no /dev/fuse", "modprobe fuse"});
  } else if (facts.fuse_error != 0) {
    found.push_back({ErrorKind::denied,
                     "/dev/fuse may not be opened (" + reason(facts.fuse_error) + ")",
                     "chmod 666 /dev/fuse"});
  }
  return found;
}

Error refusal_of(const RootlessFacts& facts, const std::vector<Obstacle>& found) {
  std::string list;
  ErrorKind kind = ErrorKind::local;
  for (const Obstacle& obstacle : found) {
    append_item(list, obstacle.what + ": " + obstacle.remedy, "; ");
    if (kind == ErrorKind::local) kind = obstacle.kind;
  }
  return {kind, "user " + facts.user +
                    " cannot make local nodes without root privileges here: " + list +
                    " (or run fastgpu as root, or use hosts that you have with --provider "
                    "static)"};
}

std::optional<IdRange> find_id_range(std::string_view text, std::string_view name,
                                     std::uint32_t number) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string owner, first, count;
    if (!std::getline(fields, owner, ':') || !std::getline(fields, first, ':') ||
        !std::getline(fields, count, ':') || (owner != name && owner != std::to_string(number)))
      continue;
    const IdRange range{to_number<std::uint32_t>(first).value_or(0),
                        to_number<std::uint32_t>(count).value_or(0)};
    if (range.first > 0 && range.count >= kEnoughIds) return range;
  }
  return std::nullopt;
}

}  // namespace fastgpu::provision::local
