// Host keys that the user has met before, from OpenSSH's known_hosts files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::ssh {

/// The Ed25519 keys in `text` for a host, as "ssh-ed25519 AAAA...". Knows hashed names, patterns,
/// negation and [host]:port. Keys marked @revoked are taken out; certificates and keys of other
/// types are passed over, as are lines that cannot be read.
std::vector<std::string> known_host_keys(std::string_view text, std::string_view address,
                                         std::uint16_t port);

/// The same from a file; none where it does not exist. Throws where it cannot be read.
std::vector<std::string> known_host_keys_in(const std::filesystem::path& file,
                                            std::string_view address, std::uint16_t port);

}  // namespace fastgpu::ssh
