// The keys that the hosts of a static cluster, and the jump hosts on the way to them, must prove to
// own.
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
  refuse,  ///< A host whose key is in no file is an error.
  accept,  ///< The key is requested over the network, shown, and trusted from then on.
};

/// The entries for places in the user's known_hosts files, looked up once each.
class KnownPlaces {
 public:
  explicit KnownPlaces(const std::filesystem::path& home)
      : files_{home / ".ssh" / "known_hosts", home / ".ssh" / "known_hosts2",
               "/etc/ssh/ssh_known_hosts"} {}

  const ssh::KnownHost& of(const std::string& address, std::uint16_t port);

  /// Makes that name (HostKeyAlias) the place's name in later look-ups.
  void call(const std::string& address, std::uint16_t port, const std::string& alias);

 private:
  using Name = std::pair<std::string, std::uint16_t>;

  std::vector<std::filesystem::path> files_;
  std::map<Name, ssh::KnownHost> hosts_;
  std::map<Name, Name> aliases_;
};

/// Completes the keys of `hosts` and their jump hosts. Those of the file stay. Others are looked up
/// in `known`, then requested as certificates of its authorities, then treated by `unknown`. Hosts
/// that libssh2 does not reach are left to OpenSSH's client. Throws denied, with the names of the
/// hosts, if keys are missing, revoked or not as certified.
void find_host_keys(Services& services, std::vector<provision::StaticHost>& hosts,
                    KnownPlaces& known, UnknownHosts unknown);

}  // namespace fastgpu::cli
