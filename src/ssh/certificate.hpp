// Host certificates of OpenSSH: read, and held against what a user's known_hosts says of
// authorities.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::ssh {

/// A certificate for an Ed25519 host key. Nothing of it is proven before check_certificate().
struct HostCertificate {
  std::string key{};                      ///< "ssh-ed25519 AAAA...": the key that it vouches for.
  std::string id{};                       ///< For people.
  std::uint32_t type = 0;                 ///< 2 for hosts.
  std::vector<std::string> principals{};  ///< Names and patterns; empty: every host.
  std::uint64_t valid_after = 0;          ///< Seconds since 1970.
  std::uint64_t valid_before = 0;
  bool has_critical_options = false;
  std::string authority{};       ///< The key that signed it, "ssh-rsa AAAA...".
  std::string signed_part{};     ///< What the signature is of.
  std::string signature_type{};  ///< "rsa-sha2-512"
  std::string signature{};
};

/// Reads the certificate in "ssh-ed25519-cert-v01@openssh.com AAAA...", the form in which
/// ssh-keyscan and ssh-keygen print it. Throws ErrorKind::usage for anything else.
HostCertificate parse_certificate(std::string_view line);

/// Throws denied, with the reason, unless `certificate` is for a host that is called `name`, is
/// valid at `now` (seconds since 1970), and is signed by one of `authorities`.
void check_certificate(const HostCertificate& certificate, const std::string& name,
                       std::uint64_t now, std::span<const std::string> authorities);

}  // namespace fastgpu::ssh
