// Host keys that an authority of the user's known_hosts vouches for.
#pragma once

#include <optional>
#include <string>

#include "cli/context.hpp"
#include "ssh/host.hpp"
#include "ssh/known_hosts.hpp"

namespace fastgpu::cli {

/// Asks the host for its certificate with OpenSSH's ssh-keyscan, checks it, and returns the key
/// that it is for, which the host must then prove to own. Absent where no @cert-authority is known
/// for the host, where it has no certificate for an ed25519 key, and behind a jump host, where
/// ssh-keyscan does not reach it. Throws denied for a certificate that does not hold.
std::optional<std::string> certified_key(Context& context, const ssh::Host& place,
                                         const ssh::KnownHost& known);

}  // namespace fastgpu::cli
