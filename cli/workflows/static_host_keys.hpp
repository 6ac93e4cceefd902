// The host keys of a static cluster's hosts and of the jump hosts on the way to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/workflows/services.hpp"
#include "provision/providers/static/hosts.hpp"
#include "ssh/known_hosts.hpp"

namespace fastgpu::cli {

enum class UnknownHosts : std::uint8_t {
  refuse,  ///< A host without a known key is an error.
  accept,  ///< The host is asked for its key, which is shown and trusted from then on.
};

/// A cache of the entries in the user's known_hosts files.
class KnownPlaces {
 public:
  explicit KnownPlaces(const std::filesystem::path& home)
      : files_{home / ".ssh" / "known_hosts", home / ".ssh" / "known_hosts2",
               "/etc/ssh/ssh_known_hosts"} {}

  const ssh::KnownHost& of(const std::string& address, std::uint16_t port);

  /// Makes later look-ups of the place use the name `alias` (HostKeyAlias).
  void call(const std::string& address, std::uint16_t port, const std::string& alias);

 private:
  using Name = std::pair<std::string, std::uint16_t>;

  std::vector<std::filesystem::path> files_;
  std::map<Name, ssh::KnownHost> hosts_;
  std::map<Name, Name> aliases_;
};

/// Sets the missing keys of `hosts` and of their jump hosts. They come from `known`, then from
/// certificates of its authorities, then as `unknown` allows. Keys of the cluster file stay.
/// Marks hosts that only OpenSSH's client can reach. Throws denied, with the names of the
/// hosts, if a key is missing, revoked or wrongly certified.
void find_host_keys(Services& services, std::vector<provision::StaticHost>& hosts,
                    KnownPlaces& known, UnknownHosts unknown);

}  // namespace fastgpu::cli
