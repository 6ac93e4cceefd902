// The output of OpenSSH's client for a host before any login.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

struct FirstContact {
  std::string log{};     ///< The client's own log. Hosts and proxies do not write into it.
  std::string errors{};  ///< The error output of hosts and proxies.
};

/// Connects to `host` with `config` and with `options` that override it ("-o", "Name=value"). No
/// login is tried at the host itself. Throws interrupted after a cancel.
FirstContact first_contact(const Host& host, const std::string& config,
                           const std::vector<std::string>& options,
                           std::chrono::milliseconds timeout, const Cancel& cancel);

/// Returns the keys that `host`, which has host.openssh, proves to own now. Uses only `algorithms`
/// if any are named ("ssh-ed25519,ecdsa-sha2-nistp256"). The keys of its jump hosts must be known.
/// Throws as the client fails, interrupted after a cancel.
std::vector<std::string> learn_host_keys(const Host& host, std::chrono::milliseconds timeout,
                                         const Cancel& cancel, const std::string& algorithms = {});

}  // namespace fastgpu::ssh
