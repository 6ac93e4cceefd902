// Host keys that an authority of the user's known_hosts vouches for. OpenSSH's client checks the
// certificates: libssh2 negotiates none.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "ssh/host.hpp"
#include "ssh/known_hosts.hpp"

namespace fastgpu::ssh {

/// What OpenSSH's client found of a certificate, from its log (LogLevel DEBUG1).
struct CertificateCheck {
  std::string type{};         ///< Of the key that it is for, "ssh-ed25519".
  std::string fingerprint{};  ///< Of that key, "SHA256:...".
  bool holds = false;
  std::string reason{};  ///< Why it does not hold, where the client says so.
};

/// Absent where the host showed no certificate.
std::optional<CertificateCheck> parse_certificate_check(std::string_view log);

/// Returns the lines of a known_hosts file that has the authorities and the revoked keys of
/// `known`, and the keys of the hosts on the way to `host`. It has no key of `host` itself.
std::string authorities_file(const Host& host, const KnownHost& known);

/// Asks `host`, which has host.openssh and jump hosts with known keys, for its certificate, and
/// returns the key that it vouches for, "ssh-ed25519 AAAA...". The certificate must be for
/// host.address. Absent where the host shows none. Throws denied for one that does not hold, else
/// as the client fails; interrupted after a cancel.
std::optional<std::string> certified_host_key(const Host& host, const KnownHost& known,
                                              std::chrono::milliseconds timeout,
                                              const Cancel& cancel);

}  // namespace fastgpu::ssh
