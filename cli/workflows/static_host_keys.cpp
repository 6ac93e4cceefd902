#include "cli/workflows/static_host_keys.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/parallel.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "ssh/connection.hpp"
#include "ssh/first_contact.hpp"
#include "ssh/host_certificate.hpp"
#include "ssh/keys.hpp"
#include "ssh/scan.hpp"

namespace fastgpu::cli {
namespace {

using provision::StaticHost;
using Hosts = std::vector<StaticHost>;
using Keys = std::vector<std::string>;

constexpr std::size_t kAtOnce = 64;
/// The limit on concurrent clients. Each is a process, and jump hosts need one more each.
constexpr std::size_t kClientsAtOnce = 16;

ssh::Host to_ssh(const StaticHost& host) {
  ssh::Host out{.name = {host.name.empty() ? host.address : host.name},
                .address = host.address,
                .port = host.port,
                .user = host.user.empty() ? "root" : host.user,
                .identity = host.identity,
                .host_keys = host.host_keys};
  for (const provision::StaticJump& jump : host.jumps)
    out.jumps.push_back({.name = {jump.address},
                         .address = jump.address,
                         .port = jump.port,
                         .user = jump.user,
                         .identity = jump.identity.empty() ? host.identity : jump.identity,
                         .host_keys = jump.host_keys});
  return out;
}

ssh::Host cut_at(ssh::Host whole, std::size_t distance) {
  if (distance == whole.jumps.size()) return whole;
  ssh::Host jump = whole.jumps[distance];
  whole.jumps.resize(distance);
  jump.jumps = std::move(whole.jumps);
  return jump;
}

/// Returns one place on the way to `host`: a jump host, or `host` itself. `distance` counts from
/// here.
ssh::Host place_on_way(const StaticHost& host, std::size_t distance) {
  return cut_at(to_ssh(host), distance);
}

/// Returns the same place, to be reached by OpenSSH's client.
ssh::Host place_for_client(const StaticHost& host, std::size_t distance) {
  ssh::Host whole = to_ssh(host);
  apply_listed(host, ssh::Login::as_user, whole);
  return cut_at(std::move(whole), distance);
}

/// Returns the keys of the same place.
Keys& keys_on_way(StaticHost& host, std::size_t distance) {
  return distance == host.jumps.size() ? host.host_keys : host.jumps[distance].host_keys;
}

/// Returns the way to a place as text. It identifies the place: behind another jump host the same
/// address can be another host.
std::string way_to(const ssh::Host& place) {
  std::string way;
  for (const ssh::Host& jump : place.jumps)
    way += ssh::place(jump) + " ";
  return way + ssh::place(place);
}

/// Returns the distance of the first place on the way to `host` that has no key yet.
std::optional<std::size_t> unknown_distance(const StaticHost& host) {
  for (std::size_t distance = 0; distance < host.jumps.size(); ++distance)
    if (host.jumps[distance].host_keys.empty()) return distance;
  return host.host_keys.empty() ? std::optional(host.jumps.size()) : std::nullopt;
}

bool is_ed25519(const std::string& key) {
  return key.starts_with("ssh-ed25519 ");
}

bool is_for_client(const StaticHost& host) {
  return host.openssh && host.openssh->always;
}

void refuse_revoked(const std::string& key, const ssh::KnownHost& known, const std::string& place) {
  if (known.is_revoked(key))
    throw Error(ErrorKind::denied,
                "the host key of " + place + ", " + ssh::fingerprint(key) +
                    ", is marked @revoked in known_hosts: nothing is sent there");
}

/// Returns the keys that are not revoked. Throws denied if all of them are revoked.
Keys without_revoked(const Keys& keys, const ssh::KnownHost& known, const std::string& place) {
  Keys left = keys;
  std::erase_if(left, [&](const std::string& key) { return known.is_revoked(key); });
  if (left.empty() && !keys.empty()) refuse_revoked(keys.front(), known, place);
  return left;
}

/// Throws denied if known_hosts has keys of the host but none that libssh2 can check. The key that
/// the host shows now cannot be trusted in their place.
void refuse_other_types(const ssh::KnownHost& known, const std::string& place) {
  if (known.other_types.empty()) return;
  std::string types;
  for (const std::string& type : known.other_types)
    append_item(types, printable(type));
  throw Error(ErrorKind::denied,
              "known_hosts has " + place + " with a key of another type (" + types +
                  "), which only OpenSSH's client can check: install `ssh` here; or compare "
                  "`ssh-keyscan -t ed25519 " +
                  place + "` with the host's own key, and write it into known_hosts or the file");
}

/// Sets the keys of all places on the way to `host` that the cluster file or known_hosts has.
void look_up(StaticHost& host, KnownPlaces& known) {
  for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
    const ssh::Host place = place_on_way(host, distance);
    const ssh::KnownHost& what = known.of(place.address, place.port);
    Keys& keys = keys_on_way(host, distance);
    const bool are_written = !keys.empty();
    if (!are_written) keys = what.keys;
    keys = without_revoked(keys, what, place.address);
    if (keys.empty() && !host.openssh) refuse_other_types(what, place.address);
    if (are_written || !host.openssh) continue;
    keys.insert(keys.end(), what.other_keys.begin(), what.other_keys.end());
    keys = without_revoked(keys, what, place.address);
  }
}

/// The places at one distance whose keys are unknown, each once.
struct Unknown {
  std::vector<ssh::Host> places;
  /// The hosts at or behind each place, by way_to().
  std::map<std::string, std::vector<StaticHost*>> hosts;

  void give(const ssh::Host& place, std::size_t distance, const Keys& keys) const {
    for (StaticHost* const host : hosts.at(way_to(place)))
      keys_on_way(*host, distance) = keys;
  }
};

using Wanted = bool (*)(const StaticHost&);

Unknown unknown_at(std::size_t distance, Hosts& hosts, Wanted wanted) {
  Unknown unknown;
  for (StaticHost& host : hosts) {
    if (unknown_distance(host) != distance || !wanted(host)) continue;
    ssh::Host place =
        host.openssh ? place_for_client(host, distance) : place_on_way(host, distance);
    auto& at = unknown.hosts[way_to(place)];
    if (at.empty()) unknown.places.push_back(std::move(place));
    at.push_back(&host);
  }
  return unknown;
}

/// Calls `ask` for all places, many at once. Throws the first failure.
template <class Ask>
auto ask_all(Services& services, const std::vector<ssh::Host>& places, const char* what, Ask ask) {
  const auto limit = services.settings().duration("connect-timeout");
  auto answers =
      parallel_map(std::span<const ssh::Host>(places), kClientsAtOnce,
                   [&](const ssh::Host& place) { return ask(place, limit, services.cancel()); });
  std::vector<typename decltype(answers)::value_type::Value> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!answers[i].ok())
      throw answers[i].error().during("asking " + places[i].address + " for its " + what);
    out.push_back(std::move(answers[i]).value());
  }
  return out;
}

/// Sets the keys that have a certificate of an authority in the user's known_hosts.
void take_certified(Services& services, Hosts& hosts, std::size_t distance, KnownPlaces& known) {
  Unknown unknown = unknown_at(distance, hosts, [](const StaticHost&) { return true; });
  std::erase_if(unknown.places, [&](const ssh::Host& place) {
    return known.of(place.address, place.port).authorities.empty();
  });
  for (const ssh::Host& place : unknown.places)
    if (!place.openssh)
      throw Error(ErrorKind::denied,
                  "an @cert-authority of known_hosts is for " + place.address +
                      ", whose certificate only OpenSSH's client can check: install `ssh` here");
  std::map<std::string, const ssh::KnownHost*> what;
  for (const ssh::Host& place : unknown.places)
    what[way_to(place)] = &known.of(place.address, place.port);
  const auto keys =
      ask_all(services, unknown.places, "certificate",
              [&](const ssh::Host& place, std::chrono::milliseconds limit, const Cancel& cancel) {
                return ssh::certified_host_key(place, *what.at(way_to(place)), limit, cancel);
              });
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i]) unknown.give(unknown.places[i], distance, {*keys[i]});
}

void accept(Services& services, const ssh::Host& place, const Keys& keys, KnownPlaces& known) {
  for (const std::string& key : keys) {
    refuse_revoked(key, known.of(place.address, place.port), place.address);
    services.messages().warn("accepted the key of " + ssh::place(place) + ", " +
                             ssh::fingerprint(key));
  }
}

/// The answer of a place to libssh2's request for its key.
struct Scanned {
  std::optional<std::string> key{};
  /// True if the place has no algorithms in common with libssh2, or a jump host refused us.
  bool needs_openssh = false;
  std::optional<Error> failure{};  ///< The reason for a missing answer.
};

/// Asks places for their keys, many at once. Returns the answers by way_to().
std::map<std::string, Scanned> scan(Services& services, std::span<const ssh::Host> places) {
  std::map<std::string, Scanned> keys;
  for (std::size_t at = 0; at < places.size(); at += kAtOnce) {
    const auto some = places.subspan(at, std::min(kAtOnce, places.size() - at));
    const auto found = ssh::scan_host_keys(some, services.settings().duration("connect-timeout"),
                                           services.cancel());
    services.cancel().check();
    for (std::size_t i = 0; i < some.size(); ++i) {
      Scanned& scanned = keys[way_to(some[i])];
      if (found[i].ok())
        scanned.key = found[i].value();
      else if (found[i].error().kind() == ErrorKind::denied)
        scanned.needs_openssh = true;
      else
        scanned.failure = found[i].error();
    }
  }
  return keys;
}

void need_openssh(StaticHost& host) {
  if (!host.openssh)
    throw Error(ErrorKind::denied, host.address +
                                       " has no algorithms in common with libssh2: install `ssh` "
                                       "here, because OpenSSH's client supports more of them");
  host.openssh->always = true;
}

void accept_by_libssh2(Services& services, Hosts& hosts, std::size_t distance, KnownPlaces& known) {
  const Unknown unknown =
      unknown_at(distance, hosts, [](const StaticHost& host) { return !is_for_client(host); });
  const auto found = scan(services, unknown.places);
  for (const ssh::Host& place : unknown.places) {
    const Scanned& scanned = found.at(way_to(place));
    if (scanned.failure) throw scanned.failure->during("asking " + place.address + " for its key");
    if (scanned.key) {
      accept(services, place, {*scanned.key}, known);
      unknown.give(place, distance, {*scanned.key});
    } else {
      for (StaticHost* const host : unknown.hosts.at(way_to(place)))
        need_openssh(*host);
    }
  }
}

void accept_by_client(Services& services, Hosts& hosts, std::size_t distance, KnownPlaces& known) {
  const Unknown unknown = unknown_at(distance, hosts, is_for_client);
  const auto found =
      ask_all(services, unknown.places, "key",
              [](const ssh::Host& place, std::chrono::milliseconds limit, const Cancel& cancel) {
                return ssh::learn_host_keys(place, limit, cancel);
              });
  for (std::size_t i = 0; i < found.size(); ++i) {
    accept(services, unknown.places[i], found[i], known);
    unknown.give(unknown.places[i], distance, found[i]);
  }
}

/// Throws denied, naming the places whose keys are unknown and the keys that they show.
void refuse_unknown(Services& services, const Hosts& hosts) {
  std::vector<ssh::Host> places;
  std::set<std::string> ways;
  for (const StaticHost& host : hosts)
    if (const auto distance = unknown_distance(host)) {
      ssh::Host place = place_on_way(host, *distance);
      if (ways.insert(way_to(place)).second) places.push_back(std::move(place));
    }
  if (places.empty()) return;
  const auto shown = scan(services, places);
  std::string missing;
  for (const ssh::Host& place : places) {
    const Scanned& scanned = shown.at(way_to(place));
    append_item(missing,
                ssh::place(place) +
                    (scanned.key ? ", which shows " + ssh::fingerprint(*scanned.key) : "") +
                    (scanned.failure ? ", which does not answer" : ""));
  }
  const bool is_one = places.size() == 1;
  throw Error(ErrorKind::denied,
              (is_one ? "the host key is" : "the host keys are") +
                  std::string(" neither in the file nor in ~/.ssh/known_hosts: ") + missing +
                  "; compare with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` at the host; "
                  "then write the key into the file as host_keys, or accept what the host shows "
                  "with --accept-host-keys");
}

/// Marks the hosts with known keys that only OpenSSH's client can reach. Throws if no host
/// answers: the logins that follow would only wait for another timeout.
void find_clients_hosts(Services& services, Hosts& hosts) {
  const auto way_of = [](const StaticHost& host) { return place_on_way(host, host.jumps.size()); };
  std::vector<ssh::Host> places;
  for (const StaticHost& host : hosts)
    if (host.openssh && !host.openssh->always) places.push_back(way_of(host));
  const auto found = scan(services, places);
  const auto has_failed = [](const auto& one) { return one.second.failure.has_value(); };
  if (!found.empty() && std::ranges::all_of(found, has_failed))
    throw Error(*found.begin()->second.failure);
  for (StaticHost& host : hosts) {
    const auto scanned = found.find(way_to(way_of(host)));
    if (scanned != found.end() && scanned->second.needs_openssh && host.openssh)
      host.openssh->always = true;
  }
}

/// Marks a host for OpenSSH's client if it has only keys of types that libssh2 does not check.
void sort_by_key_types(StaticHost& host) {
  for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
    const Keys& keys = keys_on_way(host, distance);
    if (host.openssh && !keys.empty() && std::ranges::none_of(keys, is_ed25519))
      host.openssh->always = true;
  }
}

void drop_other_keys(StaticHost& host) {
  for (std::size_t distance = 0; distance <= host.jumps.size(); ++distance) {
    Keys& keys = keys_on_way(host, distance);
    if (!is_for_client(host) && std::ranges::any_of(keys, is_ed25519))
      std::erase_if(keys, [](const std::string& key) { return !is_ed25519(key); });
  }
}

}  // namespace

const ssh::KnownHost& KnownPlaces::of(const std::string& address, std::uint16_t port) {
  const auto alias = aliases_.find({address, port});
  const Name name = alias == aliases_.end() ? Name(address, port) : alias->second;
  const auto [found, is_new] = hosts_.try_emplace(name);
  if (is_new) found->second = ssh::known_host_in(files_, name.first, name.second);
  return found->second;
}

void KnownPlaces::call(const std::string& address, std::uint16_t port, const std::string& alias) {
  aliases_[{address, port}] = {alias, 22};
}

void find_host_keys(Services& services, Hosts& hosts, KnownPlaces& known, UnknownHosts unknown) {
  std::size_t longest = 0;
  for (StaticHost& host : hosts) {
    look_up(host, known);
    sort_by_key_types(host);
    longest = std::max(longest, host.jumps.size());
  }
  // Nearer places come first: a place behind a jump host is asked through the jump host.
  for (std::size_t distance = 0; distance <= longest; ++distance) {
    take_certified(services, hosts, distance, known);
    if (unknown == UnknownHosts::refuse) continue;
    accept_by_libssh2(services, hosts, distance, known);
    accept_by_client(services, hosts, distance, known);
  }
  refuse_unknown(services, hosts);
  for (StaticHost& host : hosts)
    sort_by_key_types(host);
  find_clients_hosts(services, hosts);
  for (StaticHost& host : hosts)
    drop_other_keys(host);
}

}  // namespace fastgpu::cli
