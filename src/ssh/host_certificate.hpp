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

/// The result of OpenSSH's client for a certificate, from its log (LogLevel DEBUG1).
struct CertificateCheck {
  std::string type{};         ///< The type of the certified key, "ssh-ed25519".
  std::string fingerprint{};  ///< The certified key's fingerprint, "SHA256:...".
  bool holds = false;
  std::string reason{};  ///< The reason why it does not hold, if the client gives one.
};

/// Returns the check in the client's log; absent if the host showed no certificate.
std::optional<CertificateCheck> parse_certificate_check(std::string_view log);

/// Returns the lines of a known_hosts file with the authorities and the revoked keys of `known`,
/// and the keys of the hosts on the way to `host`. It has no key of `host` itself.
std::string authorities_file(const Host& host, const KnownHost& known);

/// Asks `host` for its certificate and returns the key that it certifies, "ssh-ed25519 AAAA...".
/// The host has host.openssh and jump hosts with known keys. The certificate must be for
/// host.address. Absent if the host shows no certificate. Throws denied for one that does not hold,
/// else as the client fails; interrupted after a cancel.
std::optional<std::string> certified_host_key(const Host& host, const KnownHost& known,
                                              std::chrono::milliseconds timeout,
                                              const Cancel& cancel);

}  // namespace fastgpu::ssh
