// Asks hosts for their keys without logging in, so that a user can compare fingerprints.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// Returns the Ed25519 key at each host's address, as "ssh-ed25519 AAAA...". The host proves to own
/// it, but not that it is the intended host. The keys of jump hosts must be known already.
std::vector<HostResult<std::string>> scan_host_keys(std::span<const Host> hosts,
                                                    std::chrono::milliseconds timeout,
                                                    const Cancel& cancel);

}  // namespace fastgpu::ssh
