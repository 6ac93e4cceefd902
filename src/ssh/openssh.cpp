#include "ssh/openssh.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::ssh {
namespace {

/// Each once, whoever is on the way to another behind the others.
std::vector<Host> all_of(std::span<const Host> hosts) {
  std::vector<Host> all(hosts.begin(), hosts.end());
  for (const Host& host : hosts)
    for (const Host& jump : host.jumps)
      if (std::ranges::find(all, jump.name, &Host::name) == all.end()) all.push_back(jump);
  return all;
}

/// A path may have a space.
std::string quoted(const std::filesystem::path& path) {
  std::string text = "\"";
  return text.append(path.string()).append("\"");
}

std::string way_to(const Host& host) {
  std::string names;
  for (const Host& jump : host.jumps)
    names += (names.empty() ? "" : ",") + jump.name.value;
  return names.empty() ? "none" : names;
}

std::string section_of(const Host& host, const std::filesystem::path& known_hosts,
                       const std::string& alias) {
  if (!host.door.empty())
    throw Error(ErrorKind::usage, host.name.value +
                                      " is in a network of its own that OpenSSH does not reach: "
                                      "use `fastgpu ssh`");
  return "Host " + host.name.value + (alias.empty() ? "" : " " + alias) + "\n  HostName " +
         host.address + "\n  Port " + std::to_string(host.port) + "\n  User " + host.user +
         "\n  IdentityFile " + quoted(host.identity) + "\n  IdentitiesOnly yes\n  HostKeyAlias " +
         host.name.value + "\n  UserKnownHostsFile " + quoted(known_hosts) +
         "\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  ProxyJump " +
         way_to(host) + "\n";
}

}  // namespace

std::string openssh_known_hosts(std::span<const Host> hosts) {
  std::string text;
  for (const Host& host : all_of(hosts))
    for (const std::string& key : host.host_keys)
      text += host.name.value + " " + key + "\n";
  return text;
}

std::string openssh_config(std::span<const Host> hosts, const std::filesystem::path& known_hosts,
                           const std::string& alias) {
  std::string text;
  for (const Host& host : all_of(hosts))
    text += section_of(host, known_hosts, text.empty() ? alias : "");
  return text;
}

}  // namespace fastgpu::ssh
