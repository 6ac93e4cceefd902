// The keys that the hosts of a static cluster, and the jump hosts on the way to them, must prove to
// own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/context.hpp"
#include "provision/providers/static/hosts.hpp"
#include "ssh/known_hosts.hpp"

namespace fastgpu::cli {

enum class UnknownHosts : std::uint8_t {
  refuse,  ///< A host whose key stands nowhere is an error.
  accept,  ///< Its key is asked for over the network, shown, and trusted from then on.
};

/// What the user's known_hosts files say of places, looked up once each.
class KnownPlaces {
 public:
  explicit KnownPlaces(const std::filesystem::path& home)
      : files_{home / ".ssh" / "known_hosts", home / ".ssh" / "known_hosts2",
               "/etc/ssh/ssh_known_hosts"} {}

  const ssh::KnownHost& of(const std::string& address, std::uint16_t port);

  /// From now on the place is looked up by that name (HostKeyAlias).
  void call(const std::string& address, std::uint16_t port, const std::string& alias);

 private:
  using Name = std::pair<std::string, std::uint16_t>;

  std::vector<std::filesystem::path> files_;
  std::map<Name, ssh::KnownHost> hosts_;
  std::map<Name, Name> aliases_;
};

/// Completes the keys of `hosts` and their jump hosts: those of the file stay, others are looked
/// up in `known`, then asked for as certificates of the authorities that it has, then as `unknown`
/// says. Hosts that libssh2 does not reach are left to OpenSSH's client. Throws denied, with the
/// names of the hosts, where keys are missing, revoked or not as certified.
void find_host_keys(Context& context, std::vector<provision::StaticHost>& hosts, KnownPlaces& known,
                    UnknownHosts unknown);

}  // namespace fastgpu::cli
