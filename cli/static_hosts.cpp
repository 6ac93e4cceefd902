#include "cli/static_hosts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/names.hpp"
#include "cli/host_certificates.hpp"
#include "ssh/connection.hpp"
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
  for (const state::JumpHost& jump : host.jumps)
    out.jumps.push_back({.name = {jump.address},
                         .address = jump.address,
                         .port = jump.port,
                         .user = jump.user,
                         .identity = host.identity,
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
    const auto [found, is_new] = hosts_.try_emplace({address, port});
    if (is_new) found->second = ssh::known_host_in(files_, address, port);
    return found->second;
  }

 private:
  std::vector<std::filesystem::path> files_;
  std::map<std::pair<std::string, std::uint16_t>, ssh::KnownHost> hosts_;
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

/// Throws denied for a host of which the user knows a key, but none that can be checked here: it is
/// not unknown, and what it shows now is not to be trusted for that.
void refuse_other_types(const ssh::KnownHost& known, const std::string& place) {
  if (known.other_types.empty()) return;
  std::string types;
  for (const std::string& type : known.other_types)
    types += (types.empty() ? "" : ", ") + printable(type);
  throw Error(ErrorKind::denied,
              "known_hosts knows " + place + " by a key of another type (" + types +
                  "), and only ed25519 keys are checked here: compare `ssh-keyscan -t ed25519 " +
                  place + "` with the host's own, and write it into known_hosts or the file");
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

/// Asks places for their keys, many at once, and shows their fingerprints. By the way to them.
std::map<std::string, std::string> scan(Context& context, std::span<const ssh::Host> places,
                                        Known& known) {
  std::map<std::string, std::string> keys;
  for (std::size_t at = 0; at < places.size(); at += kAtOnce) {
    const auto some = places.subspan(at, std::min(kAtOnce, places.size() - at));
    const auto found =
        ssh::scan_host_keys(some, context.settings().duration("connect-timeout"), context.cancel());
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!found[i].ok())
        throw found[i].error().during("asking " + some[i].address + " for its key");
      const std::string& key = found[i].value();
      refuse_revoked(key, known.of(some[i].address, some[i].port), some[i].address);
      context.ui().warn("accepted the key of " + ssh::place(some[i]) + ", " +
                        ssh::fingerprint(key));
      keys.emplace(way_to(some[i]), key);
    }
  }
  return keys;
}

/// From here outwards: who is behind a jump host is asked by way of it. Whoever stands on the way
/// to many is asked once.
void scan_unknown(Context& context, std::vector<provision::StaticHost>& hosts, Known& known) {
  std::size_t longest = 0;
  for (const provision::StaticHost& host : hosts)
    longest = std::max(longest, host.jumps.size());
  for (std::size_t distance = 0; distance <= longest; ++distance) {
    std::vector<provision::StaticHost*> unknown;
    std::vector<ssh::Host> places;
    std::set<std::string> named;
    for (provision::StaticHost& host : hosts) {
      if (distance > host.jumps.size() || !keys_on_way(host, distance).empty()) continue;
      unknown.push_back(&host);
      ssh::Host place = place_on_way(host, distance);
      if (named.insert(way_to(place)).second) places.push_back(std::move(place));
    }
    const auto keys = scan(context, places, known);
    for (provision::StaticHost* const host : unknown)
      keys_on_way(*host, distance) = {keys.at(way_to(place_on_way(*host, distance)))};
  }
}

/// Returns the first place on the way to `host` whose key is not known.
std::optional<ssh::Host> unknown_place(const provision::StaticHost& host) {
  for (std::size_t distance = 0; distance < host.jumps.size(); ++distance)
    if (host.jumps[distance].host_keys.empty()) return place_on_way(host, distance);
  if (!host.host_keys.empty()) return std::nullopt;
  return place_on_way(host, host.jumps.size());
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

}  // namespace

std::vector<provision::StaticHost> ready_static_hosts(Context& context,
                                                      const config::ClusterFile& file,
                                                      const std::filesystem::path& file_directory,
                                                      UnknownHosts unknown) {
  const std::filesystem::path home = context.environment()("HOME").value_or("/");
  const std::filesystem::path own_key = home / ".ssh" / "id_ed25519";
  const bool has_own_key = path_exists(own_key);
  std::vector<provision::StaticHost> hosts = provision::static_hosts(file, file_directory, home);
  Known known(home);
  std::string missing;
  for (provision::StaticHost& host : hosts) {
    if (host.identity.empty() && !has_own_key)
      throw Error(ErrorKind::denied, "no key opens " + host.address + ": " + own_key.string() +
                                         " is not there; make one (ssh-keygen -t ed25519), or name "
                                         "another as the host's identity in the file");
    if (host.identity.empty()) host.identity = own_key;
    for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
      const ssh::Host place = place_on_way(host, distance);
      const ssh::KnownHost& what = known.of(place.address, place.port);
      std::vector<std::string>& keys = keys_on_way(host, distance);
      look_up(what, place.address, keys);
      if (!keys.empty()) continue;
      if (const auto key = certified_key(context, place, what))
        keys = {*key};
      else
        refuse_other_types(what, place.address);
    }
  }
  if (unknown == UnknownHosts::accept) scan_unknown(context, hosts, known);
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
  return hosts;
}

}  // namespace fastgpu::cli
