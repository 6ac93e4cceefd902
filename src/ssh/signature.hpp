// Signatures of SSH keys, checked by libcrypto.
#pragma once

#include <string_view>

namespace fastgpu::ssh {

/// Returns true if `signature`, of the type "ssh-ed25519", "ecdsa-sha2-nistp256" (384, 521),
/// "rsa-sha2-256" or "rsa-sha2-512", is one of `data` by the key in the line `key`. Never throws
/// for what the other side made: a key or a signature that cannot be read signs nothing. RSA keys
/// of less than 2048 bits and SHA-1 count for nothing.
bool is_signature_of(std::string_view key, std::string_view type, std::string_view signature,
                     std::string_view data);

}  // namespace fastgpu::ssh
