// Host keys that are certified by an authority in the user's known_hosts. OpenSSH's client checks
// the certificates, because libssh2 does not negotiate them.
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

/// The result of checking a certificate, from the log of OpenSSH's client (LogLevel DEBUG1).
struct CertificateCheck {
  std::string type{};         ///< The type of the certified key, "ssh-ed25519".
  std::string fingerprint{};  ///< The certified key's fingerprint, "SHA256:...".
  bool holds = false;
  std::string reason{};  ///< The reason if it does not hold and the client reports one.
};

/// Returns the check in the client's log; absent if the host showed no certificate.
std::optional<CertificateCheck> parse_certificate_check(std::string_view log);

/// Returns the text of a known_hosts file with the authorities and the revoked keys of `known`, and
/// the keys of the jump hosts on the way to `host`. It has no key of `host` itself.
std::string authorities_file(const Host& host, const KnownHost& known);

/// Asks `host` for its certificate and returns the certified key, "ssh-ed25519 AAAA...". The host
/// must have host.openssh, and its jump hosts must have known keys. The certificate must be for
/// host.address. Absent if the host shows no certificate. Throws denied for an invalid certificate,
/// interrupted after a cancel, and the client's other failures.
std::optional<std::string> certified_host_key(const Host& host, const KnownHost& known,
                                              std::chrono::milliseconds timeout,
                                              const Cancel& cancel);

}  // namespace fastgpu::ssh
