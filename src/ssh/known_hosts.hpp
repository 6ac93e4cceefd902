// What the user's known_hosts files say of a host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::ssh {

/// Keys are in one line without comment, "ssh-ed25519 AAAA...".
struct KnownHost {
  std::vector<std::string> keys{};         ///< Ed25519, revoked ones included.
  std::vector<std::string> other_keys{};   ///< Of other types, which OpenSSH's client can check.
  std::set<std::string> other_types{};     ///< Their types.
  std::vector<std::string> revoked{};      ///< Keys of any type that must not be trusted.
  std::vector<std::string> authorities{};  ///< Keys that sign certificates of such hosts.

  bool is_revoked(const std::string& key) const;
};

/// Looks a host up in the text of a known_hosts file. Knows hashed names, patterns, negation,
/// [host]:port, @revoked and @cert-authority; lines that cannot be read are passed over.
KnownHost known_host(std::string_view text, std::string_view address, std::uint16_t port);

/// The same in files, of which those that do not exist are left out. Throws where one cannot be
/// read.
KnownHost known_host_in(std::span<const std::filesystem::path> files, std::string_view address,
                        std::uint16_t port);

}  // namespace fastgpu::ssh
