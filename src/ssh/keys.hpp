// Creates Ed25519 key pairs in OpenSSH's formats.
#pragma once

#include <string>
#include <string_view>

#include "base/key_pair.hpp"

namespace fastgpu::ssh {

/// Returns a new key pair from the kernel's random source. Throws ErrorKind::local if that fails.
KeyPair generate_key_pair(std::string_view comment);

/// Returns "SHA256:..." for a key of any type, as ssh-keygen -l shows it. Throws ErrorKind::usage
/// if `public_key` is not a key.
std::string fingerprint(std::string_view public_key);

}  // namespace fastgpu::ssh
