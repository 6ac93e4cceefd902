#include "ssh/openssh.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "ssh/preamble.hpp"

namespace fastgpu::ssh {
namespace {

/// Returns all hosts and jump hosts, each once, with the jump hosts last.
std::vector<Host> all_of(std::span<const Host> hosts) {
  std::vector<Host> all(hosts.begin(), hosts.end());
  for (const Host& host : hosts)
    for (const Host& jump : host.jumps)
      if (!contains(all, jump.name, &Host::name)) all.push_back(jump);
  return all;
}

/// Returns the path in quotes, because it may contain a space.
std::string quoted(const std::filesystem::path& path) {
  std::string text = "\"";
  return text.append(openssh_literal(path.string())).append("\"");
}

std::string way_to(const Host& host) {
  std::string names;
  for (const Host& jump : host.jumps)
    append_item(names, jump.name.value, ",");
  return names.empty() ? "none" : names;
}

/// Returns the jump hosts of the cluster file, or the proxy in the user's configuration.
std::string proxy_of(const Host& host) {
  const bool has_own = host.openssh && !host.openssh->proxy.empty();
  return has_own ? host.openssh->proxy : "ProxyJump " + way_to(host);
}

/// Returns the options that a connection and each of its jump hosts share.
std::string pinned_section(const Host& host, const std::string& name, const OpenSsh& way,
                           const std::filesystem::path& known_hosts, HostKeyTrust trust) {
  std::string text = "Host " + name + "\n  HostName " + openssh_literal(host.address) +
                     "\n  Port " + std::to_string(host.port);
  if (!host.user.empty()) text += "\n  User " + host.user;
  if (!host.identity.empty()) text += "\n  IdentityFile " + quoted(host.identity);
  if (way.login == Login::with_identity)
    text += "\n  IdentitiesOnly yes\n  IdentityAgent none";
  else if (!way.agent.empty())
    text += "\n  IdentityAgent " + quoted(way.agent);
  return text + "\n  HostKeyAlias " + host.name.value + "\n  UserKnownHostsFile " +
         quoted(known_hosts) +
         "\n  GlobalKnownHostsFile /dev/null"
         "\n  KnownHostsCommand none"
         "\n  HashKnownHosts no"
         "\n  StrictHostKeyChecking " +
         (trust == HostKeyTrust::known ? "yes" : "accept-new") +
         "\n  UpdateHostKeys no"
         "\n  CheckHostIP no"
         "\n  VerifyHostKeyDNS no"
         "\n  CanonicalizeHostname no"
         "\n  BatchMode yes"
         "\n  ControlMaster no"
         "\n  ControlPath none"
         "\n  ForwardAgent no"
         "\n  ForwardX11 no"
         "\n  PermitLocalCommand no"
         "\n  ServerAliveInterval 15"
         "\n  ServerAliveCountMax 3\n";
}

/// Returns the path in quotes, as a pattern of glob(3) that only this path matches. Version 9.9 and
/// later also expand %h and similar sequences there, and "[%%]" is a '%' to all of them.
std::string included_path(const std::filesystem::path& path) {
  std::string text = "\"";
  for (const char c : path.string()) {
    const bool is_special = c == '*' || c == '?' || c == '[' || c == '%';
    text += is_special ? "[" + openssh_literal({&c, 1}) + "]" : std::string(1, c);
  }
  return text + "\"";
}

std::string included(const std::filesystem::path& config) {
  const std::string own = config.empty() ? "" : "  Include " + included_path(config) + "\n";
  return "Match all\n" + own + "  Include /etc/ssh/ssh_config\n";
}

/// Makes older clients ignore unknown options, both ours and the user's. A line of this kind in the
/// user's own file would come too late. Errors in that file have been found by `ssh -G` before.
constexpr std::string_view kIgnoreUnknown = "IgnoreUnknown *\n";

std::string section_of(const Host& host, const std::filesystem::path& known_hosts,
                       const std::string& alias) {
  if (!host.socket_broker.empty())
    throw Error(ErrorKind::usage, host.name.value +
                                      " is in a network of its own that OpenSSH does not reach: "
                                      "use `fastgpu ssh`");
  return "Host " + host.name.value + (alias.empty() ? "" : " " + alias) + "\n  HostName " +
         openssh_literal(host.address) + "\n  Port " + std::to_string(host.port) + "\n  User " +
         host.user + "\n  IdentityFile " + quoted(host.identity) +
         "\n  IdentitiesOnly yes\n  HostKeyAlias " + host.name.value + "\n  UserKnownHostsFile " +
         quoted(known_hosts) +
         "\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  " + proxy_of(host) +
         "\n";
}

}  // namespace

std::string openssh_literal(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

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

const std::string& openssh_name(const Host& host) {
  const bool is_named =
      host.openssh && host.openssh->login == Login::as_user && !host.openssh->name.empty();
  return is_named ? host.openssh->name : host.name.value;
}

std::string openssh_connection_config(const Host& host, const std::filesystem::path& known_hosts,
                                      std::chrono::milliseconds connect_timeout,
                                      HostKeyTrust trust) {
  const OpenSsh way = host.openssh.value_or(OpenSsh{});
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(connect_timeout).count();
  std::string text(kIgnoreUnknown);
  text += pinned_section(host, openssh_name(host), way, known_hosts, trust);
  text +=
      "  LogLevel VERBOSE\n  RemoteCommand none\n  ClearAllForwardings yes\n  Tunnel no\n"
      "  SessionType default\n  StdinNull no\n  ForkAfterAuthentication no\n"
      "  ConnectionAttempts 1\n  ConnectTimeout " +
      std::to_string(std::max<std::chrono::seconds::rep>(seconds, 1)) + "\n  " + proxy_of(host) +
      "\n";
  for (const Host& jump : host.jumps)
    text += pinned_section(jump, jump.name.value, jump.openssh.value_or(way), known_hosts, trust) +
            "  LogLevel ERROR\n  ProxyJump none\n";
  const bool needs_users = way.login == Login::as_user || !way.proxy.empty() || !host.jumps.empty();
  return needs_users ? text + included(way.config) : text;
}

std::string openssh_user_config(const std::filesystem::path& config) {
  return included(config);
}

OpenSshSettings parse_openssh_settings(std::string_view text) {
  OpenSshSettings settings;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto space = line.find(' ');
    if (space == 0 || space == line.npos) continue;
    settings[std::string(line.substr(0, space))].emplace_back(line.substr(space + 1));
  }
  return settings;
}

}  // namespace fastgpu::ssh
