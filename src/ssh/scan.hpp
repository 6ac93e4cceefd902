// Asks hosts for their keys without logging in, so that a user can compare fingerprints.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// The Ed25519 key that answers at each host's address, as "ssh-ed25519 AAAA...". The host proves
/// to own it, but not that it is the host that was meant. Jump hosts must be known already.
std::vector<HostResult<std::string>> scan_host_keys(std::span<const Host> hosts,
                                                    std::chrono::milliseconds timeout,
                                                    const Cancel& cancel);

/// The keys that answer at the address of `host`, which has host.openssh, and at those of its jump
/// hosts where none is known, by the names of the hosts: of any type, asked for by OpenSSH's
/// client. Throws as the client fails, interrupted after a cancel.
std::map<std::string, std::vector<std::string>> learn_host_keys(const Host& host,
                                                                std::chrono::milliseconds timeout,
                                                                const Cancel& cancel);

}  // namespace fastgpu::ssh
