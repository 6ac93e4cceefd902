#include "cli/static_hosts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/names.hpp"
#include "cli/cluster_tools.hpp"
#include "cli/host_certificates.hpp"
#include "cli/user_ssh.hpp"
#include "ssh/connection.hpp"
#include "ssh/identity.hpp"
#include "ssh/keys.hpp"
#include "ssh/known_hosts.hpp"
#include "ssh/scan.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kAtOnce = 64;

ssh::Host to_ssh(const provision::StaticHost& host) {
  ssh::Host out{.name = {host.name.empty() ? host.address : host.name},
                .address = host.address,
                .port = host.port,
                .user = host.user.empty() ? "root" : host.user,
                .identity = host.identity};
  for (const provision::StaticJump& jump : host.jumps)
    out.jumps.push_back({.name = {jump.address},
                         .address = jump.address,
                         .port = jump.port,
                         .user = jump.user,
                         .identity = jump.identity.empty() ? host.identity : jump.identity,
                         .host_keys = jump.host_keys});
  return out;
}

/// What the user's files say of the places on the way to the hosts, looked up once each.
class Known {
 public:
  explicit Known(const std::filesystem::path& home)
      : files_{home / ".ssh" / "known_hosts", home / ".ssh" / "known_hosts2",
               "/etc/ssh/ssh_known_hosts"} {}

  const ssh::KnownHost& of(const std::string& address, std::uint16_t port) {
    const auto alias = aliases_.find({address, port});
    const Name name = alias == aliases_.end() ? Name(address, port) : alias->second;
    const auto [found, is_new] = hosts_.try_emplace(name);
    if (is_new) found->second = ssh::known_host_in(files_, name.first, name.second);
    return found->second;
  }

  /// From now on the place is looked up by that name (HostKeyAlias).
  void call(const std::string& address, std::uint16_t port, const std::string& alias) {
    aliases_[{address, port}] = {alias, 22};
  }

 private:
  using Name = std::pair<std::string, std::uint16_t>;

  std::vector<std::filesystem::path> files_;
  std::map<Name, ssh::KnownHost> hosts_;
  std::map<Name, Name> aliases_;
};

void refuse_revoked(const std::string& key, const ssh::KnownHost& known, const std::string& place) {
  if (known.is_revoked(key))
    throw Error(ErrorKind::denied,
                "the host key of " + place + ", " + ssh::fingerprint(key) +
                    ", is marked @revoked in known_hosts: nothing is sent there");
}

/// Completes `keys`, those that the cluster file names, by those that the user's files know.
/// Throws denied where all of those are revoked.
void look_up(const ssh::KnownHost& known, const std::string& place,
             std::vector<std::string>& keys) {
  if (keys.empty()) keys = known.keys;
  const std::vector<std::string> all = keys;
  std::erase_if(keys, [&](const std::string& key) { return known.is_revoked(key); });
  if (keys.empty() && !all.empty()) refuse_revoked(all.front(), known, place);
}

/// Throws denied for a host of which the user knows a key, but none that can be checked without
/// OpenSSH's client: what it shows now is not to be trusted for that.
void refuse_other_types(const ssh::KnownHost& known, const std::string& place) {
  if (known.other_types.empty()) return;
  std::string types;
  for (const std::string& type : known.other_types)
    types += (types.empty() ? "" : ", ") + printable(type);
  throw Error(ErrorKind::denied,
              "known_hosts knows " + place + " by a key of another type (" + types +
                  "), which OpenSSH's client alone can check, and `ssh` is not installed here; or "
                  "compare `ssh-keyscan -t ed25519 " +
                  place + "` with the host's own key, and write it into known_hosts or the file");
}

/// What stands on the way to a host at that distance from here: its jump hosts, then the host.
ssh::Host place_on_way(const provision::StaticHost& host, std::size_t distance) {
  ssh::Host place = to_ssh(host);
  if (distance == place.jumps.size()) return place;
  ssh::Host jump = place.jumps[distance];
  place.jumps.resize(distance);
  jump.jumps = std::move(place.jumps);
  return jump;
}

/// The keys of that place.
std::vector<std::string>& keys_on_way(provision::StaticHost& host, std::size_t distance) {
  return distance == host.jumps.size() ? host.host_keys : host.jumps[distance].host_keys;
}

/// An address means another host behind another jump host.
std::string way_to(const ssh::Host& place) {
  std::string way;
  for (const ssh::Host& jump : place.jumps)
    way += ssh::place(jump) + " ";
  return way + ssh::place(place);
}

/// Returns the first place on the way to `host` whose key is not known.
std::optional<ssh::Host> unknown_place(const provision::StaticHost& host) {
  for (std::size_t distance = 0; distance < host.jumps.size(); ++distance)
    if (host.jumps[distance].host_keys.empty()) return place_on_way(host, distance);
  if (!host.host_keys.empty()) return std::nullopt;
  return place_on_way(host, host.jumps.size());
}

using Keys = std::vector<std::string>;

bool is_ed25519(const std::string& key) {
  return key.starts_with("ssh-ed25519 ");
}

void accept(Context& context, const ssh::Host& place, const Keys& keys, Known& known) {
  for (const std::string& key : keys) {
    refuse_revoked(key, known.of(place.address, place.port), place.address);
    context.ui().warn("accepted the key of " + ssh::place(place) + ", " + ssh::fingerprint(key));
  }
}

/// Asks by OpenSSH's client, also for keys on the way that are not known.
void learn(Context& context, provision::StaticHost& host, Known& known) {
  ssh::Host place = to_ssh(host);
  place.host_keys = host.host_keys;
  apply_listed(host, ssh::Login::as_user, place);
  std::map<std::string, Keys> shown;
  try {
    shown = ssh::learn_host_keys(place, context.settings().duration("connect-timeout"),
                                 context.cancel());
  } catch (const Error& e) {
    throw e.during("asking " + host.address + " for its key");
  }
  for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
    Keys& keys = keys_on_way(host, distance);
    const ssh::Host at = place_on_way(host, distance);
    const auto found = shown.find(at.name.value);
    if (!keys.empty() || found == shown.end()) continue;
    accept(context, at, found->second, known);
    keys = found->second;
  }
}

/// A place that libssh2 asked for its key.
struct Scanned {
  std::optional<std::string> key{};
  bool needs_openssh = false;      ///< There are no common algorithms, or a jump host refuses us.
  std::optional<Error> failure{};  ///< Why it did not answer.
};

enum class Wanted : std::uint8_t { keys, algorithms };

/// Asks places for their keys, many at once. By the way to them. Throws for a place that does not
/// answer, if its key is wanted.
std::map<std::string, Scanned> scan(Context& context, std::span<const ssh::Host> places,
                                    Wanted wanted) {
  std::map<std::string, Scanned> keys;
  for (std::size_t at = 0; at < places.size(); at += kAtOnce) {
    const auto some = places.subspan(at, std::min(kAtOnce, places.size() - at));
    const auto found =
        ssh::scan_host_keys(some, context.settings().duration("connect-timeout"), context.cancel());
    context.cancel().check();
    for (std::size_t i = 0; i < some.size(); ++i) {
      Scanned& scanned = keys[way_to(some[i])];
      if (found[i].ok())
        scanned.key = found[i].value();
      else if (found[i].error().kind() == ErrorKind::denied)
        scanned.needs_openssh = true;
      else if (wanted == Wanted::keys)
        throw found[i].error().during("asking " + some[i].address + " for its key");
      else
        scanned.failure = found[i].error();
    }
  }
  return keys;
}

void need_openssh(provision::StaticHost& host) {
  if (!host.openssh)
    throw Error(ErrorKind::denied,
                host.address +
                    " has no algorithms in common with libssh2, and OpenSSH's client, which knows "
                    "more of them, is not installed here: install `ssh`");
  host.openssh->always = true;
}

bool is_for_client(const provision::StaticHost& host) {
  return host.openssh && host.openssh->always;
}

/// From here outwards: who is behind a jump host is asked by way of it. What is on the way to many
/// is asked once.
void scan_unknown(Context& context, std::vector<provision::StaticHost>& hosts, Known& known) {
  std::size_t longest = 0;
  for (const provision::StaticHost& host : hosts)
    longest = std::max(longest, host.jumps.size());
  for (std::size_t distance = 0; distance <= longest; ++distance) {
    std::vector<provision::StaticHost*> unknown;
    std::vector<ssh::Host> places;
    std::set<std::string> named;
    for (provision::StaticHost& host : hosts) {
      if (is_for_client(host) || distance > host.jumps.size() ||
          !keys_on_way(host, distance).empty())
        continue;
      unknown.push_back(&host);
      ssh::Host place = place_on_way(host, distance);
      if (named.insert(way_to(place)).second) places.push_back(std::move(place));
    }
    const auto keys = scan(context, places, Wanted::keys);
    for (const ssh::Host& place : places)
      if (const auto& key = keys.at(way_to(place)).key) accept(context, place, {*key}, known);
    for (provision::StaticHost* const host : unknown) {
      const Scanned& scanned = keys.at(way_to(place_on_way(*host, distance)));
      if (scanned.key)
        keys_on_way(*host, distance) = {*scanned.key};
      else
        need_openssh(*host);
    }
  }
  for (provision::StaticHost& host : hosts)
    if (is_for_client(host) && unknown_place(host)) learn(context, host, known);
}

/// Finds hosts that libssh2 does not reach although their keys are known. Throws if none of them
/// answers: the logins that follow would wait as long once more.
void probe(Context& context, std::vector<provision::StaticHost>& hosts) {
  std::vector<ssh::Host> places;
  const auto way_of = [](const provision::StaticHost& host) {
    return place_on_way(host, host.jumps.size());
  };
  for (const provision::StaticHost& host : hosts)
    if (host.openssh && !host.openssh->always) places.push_back(way_of(host));
  const auto found = scan(context, places, Wanted::algorithms);
  const auto has_failed = [](const auto& one) { return one.second.failure.has_value(); };
  if (!found.empty() && std::ranges::all_of(found, has_failed))
    throw Error(*found.begin()->second.failure);
  for (provision::StaticHost& host : hosts) {
    const auto scanned = found.find(way_to(way_of(host)));
    if (scanned != found.end() && scanned->second.needs_openssh && host.openssh)
      host.openssh->always = true;
  }
}

std::string as_ssh_has_it(const ssh::Host& host) {
  const std::string address =
      host.address.find(':') == std::string::npos ? host.address : "[" + host.address + "]";
  return host.user + "@" + address + (host.port == 22 ? "" : ":" + std::to_string(host.port));
}

/// Returns how OpenSSH, which checks certificates behind jump hosts, too, shows the key of a place
/// that an authority of the user vouches for; empty for any other place.
std::string certificate_advice(const ssh::Host& place, const ssh::KnownHost& known) {
  if (place.jumps.empty() || known.authorities.empty()) return "";
  std::string way;
  for (const ssh::Host& jump : place.jumps)
    way += (way.empty() ? "" : ",") + as_ssh_has_it(jump);
  return ". An @cert-authority of known_hosts is for " + place.address +
         ", but its certificate cannot be asked for behind a jump host; ssh checks it and shows "
         "the "
         "key: ssh -J " +
         way + " ssh://" + as_ssh_has_it(place) + " cat /etc/ssh/ssh_host_ed25519_key.pub";
}

/// Key files that a login may use: `plain` is the first that libssh2 can use, `single` the only
/// file if there is just one. Empty if there is none.
struct Choice {
  std::string plain{};
  std::string single{};
};

Choice choose(const std::vector<std::filesystem::path>& files) {
  Choice out;
  for (const std::filesystem::path& file : files)
    if (out.plain.empty() && ssh::identity_kind(file) == ssh::IdentityKind::ed25519)
      out.plain = file.string();
  if (files.size() == 1) out.single = files.front().string();
  return out;
}

/// Completes hosts by what the user's configuration of OpenSSH has, and decides how the user logs
/// in there.
class Resolver {
 public:
  Resolver(Context& context, const config::ClusterFile& file, Known& known)
      : ssh_(context),
        known_(known),
        has_user_(file.user || context.environment()("FASTGPU_USER").has_value()),
        own_key_(std::filesystem::path(context.environment()("HOME").value_or("/")) / ".ssh" /
                 "id_ed25519") {}

  void resolve(provision::StaticHost& host, const config::HostEntry& entry) const {
    if (!ssh_.is_there()) {
      give_own_key(host);
      return;
    }
    const UserSshHost found =
        ssh_.of(entry.address, {.port = entry.port, .user = host.user, .identity = host.identity});
    host.address = found.address;
    host.port = found.port;
    if (host.user.empty() && !has_user_) host.user = found.user;
    if (!found.host_key_alias.empty()) known_.call(host.address, host.port, found.host_key_alias);
    const bool is_named = !host.identity.empty();
    if (is_named) check_identity(host.identity);
    const Choice own = choose(found.identities);
    if (found.identities.empty() && !found.has_agent && !found.has_certificate)
      refuse_keyless(host);
    host.openssh = provision::OpenSshUse{.name = entry.address,
                                         .config = ssh_.config().string(),
                                         .proxy = host.jumps.empty() ? found.proxy : "",
                                         .identity = is_named ? host.identity : own.single,
                                         .first = own.plain.empty() || found.has_certificate,
                                         .always = host.jumps.empty() && !found.proxy.empty()};
    if (!is_named) host.identity = own.plain;
    for (std::size_t i = 0; i < host.jumps.size(); ++i)
      resolve_jump(host, host.jumps[i], entry.jumps[i], is_named);
  }

 private:
  void give_own_key(provision::StaticHost& host) const {
    if (!host.identity.empty()) return;
    if (!path_exists(own_key_)) refuse_keyless(host);
    host.identity = own_key_;
  }

  [[noreturn]] void refuse_keyless(const provision::StaticHost& host) const {
    throw Error(ErrorKind::denied,
                "no key opens " + host.address + ": " + own_key_.string() +
                    " is not there, nor is another key or an agent; make one (ssh-keygen -t "
                    "ed25519), or name another as the host's identity in the file");
  }

  /// An agent may have the key of which only the public half is here.
  static void check_identity(const std::string& identity) {
    if (ssh::identity_kind(identity) == ssh::IdentityKind::missing &&
        !path_exists(identity + ".pub"))
      throw Error(ErrorKind::not_found, "identity file " + identity + " does not exist");
  }

  void resolve_jump(provision::StaticHost& host, provision::StaticJump& jump,
                    const config::JumpEntry& entry, bool has_named_key) const {
    const UserSshHost found =
        ssh_.of(entry.address, {.port = entry.port, .user = jump.user, .identity = jump.identity});
    jump.address = found.address;
    jump.port = found.port;
    if (jump.user.empty()) jump.user = found.user.empty() ? host.user : found.user;
    if (!found.host_key_alias.empty()) known_.call(jump.address, jump.port, found.host_key_alias);
    if (!jump.identity.empty()) check_identity(jump.identity);
    const Choice own = choose(found.identities);
    if (jump.identity.empty() && !has_named_key)
      jump.identity = own.plain.empty() ? own.single : own.plain;
    const std::string& identity = jump.identity.empty() ? host.identity : jump.identity;
    if (identity.empty() || ssh::identity_kind(identity) != ssh::IdentityKind::ed25519)
      host.openssh->always = true;
  }

  UserSsh ssh_;
  Known& known_;
  bool has_user_;
  std::filesystem::path own_key_;
};

/// Finds the keys of the places on the way to `host` in the file and the user's known_hosts.
void find_keys(Context& context, provision::StaticHost& host, Known& known) {
  for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
    const ssh::Host place = place_on_way(host, distance);
    const ssh::KnownHost& what = known.of(place.address, place.port);
    Keys& keys = keys_on_way(host, distance);
    const bool are_written = !keys.empty();
    look_up(what, place.address, keys);
    const bool is_proxied = host.openssh && !host.openssh->proxy.empty();
    const auto certified = keys.empty() && !is_proxied ? certified_key(context, place, what)
                                                       : std::optional<std::string>();
    if (certified) keys = {*certified};
    if (keys.empty() && !host.openssh) refuse_other_types(what, place.address);
    if (!are_written && !certified && host.openssh) {
      keys.insert(keys.end(), what.other_keys.begin(), what.other_keys.end());
      std::erase_if(keys, [&](const std::string& key) { return what.is_revoked(key); });
      if (keys.empty() && !what.other_keys.empty())
        refuse_revoked(what.other_keys.front(), what, place.address);
    }
    if (host.openssh && !keys.empty() && std::ranges::none_of(keys, is_ed25519))
      host.openssh->always = true;
  }
}

/// Leaves keys of other types to OpenSSH's client, which alone checks them.
void drop_other_keys(provision::StaticHost& host) {
  for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
    Keys& keys = keys_on_way(host, distance);
    if (!is_for_client(host) && std::ranges::any_of(keys, is_ed25519))
      std::erase_if(keys, [](const std::string& key) { return !is_ed25519(key); });
  }
}

}  // namespace

std::vector<provision::StaticHost> ready_static_hosts(Context& context,
                                                      const config::ClusterFile& file,
                                                      const std::filesystem::path& file_directory,
                                                      UnknownHosts unknown) {
  const std::filesystem::path home = context.environment()("HOME").value_or("/");
  std::vector<provision::StaticHost> hosts = provision::static_hosts(file, file_directory, home);
  Known known(home);
  const Resolver resolver(context, file, known);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    resolver.resolve(hosts[i], file.hosts[i]);
    find_keys(context, hosts[i], known);
  }
  if (unknown == UnknownHosts::accept) scan_unknown(context, hosts, known);
  std::string missing;
  std::string advice;
  for (const provision::StaticHost& host : hosts) {
    const auto place = unknown_place(host);
    if (!place) continue;
    missing += (missing.empty() ? "" : ", ") + place->address;
    if (advice.empty()) advice = certificate_advice(*place, known.of(place->address, place->port));
  }
  if (!missing.empty())
    throw Error(ErrorKind::denied,
                "the host key of " + missing +
                    " is known neither to the file nor to ~/.ssh/known_hosts: write it into the "
                    "file as host_keys, or trust what answers with --accept-host-keys" +
                    advice);
  probe(context, hosts);
  for (provision::StaticHost& host : hosts)
    drop_other_keys(host);
  return hosts;
}

}  // namespace fastgpu::cli
