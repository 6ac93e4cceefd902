// The algorithms that libssh2 should use, and a comparison with those that a server offers. Pure.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Lists separated by commas, the preferred algorithm first. The cheapest ones that sshd and
/// libssh2 share by default come first (docs/benchmarks).
inline constexpr const char* kKeyExchange =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256";
inline constexpr const char* kHostKeyType = "ssh-ed25519";
inline constexpr const char* kCiphers = "aes128-gcm@openssh.com,aes128-ctr,aes256-ctr";
inline constexpr const char* kMacs = "hmac-sha2-256,hmac-sha2-512";

/// Returns the server's lists that have nothing in common with ours, from the first bytes that the
/// server has sent. Empty if all lists have a common entry, or if these bytes do not come from an
/// SSH server.
std::string unmatched_algorithms(std::string_view first_bytes);

}  // namespace fastgpu::ssh
