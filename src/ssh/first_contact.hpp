// What a host shows to OpenSSH's client before any login.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

struct FirstContact {
  std::string log{};     ///< The client's own. Hosts and proxies do not write into it.
  std::string errors{};  ///< What hosts and proxies wrote on the error output.
};

/// Connects to `host` by `config`, with `options` that hold against it ("-o", "Name=value"). No
/// login is tried at the host itself. Throws interrupted after a cancel.
FirstContact first_contact(const Host& host, const std::string& config,
                           const std::vector<std::string>& options,
                           std::chrono::milliseconds timeout, const Cancel& cancel);

/// The keys that `host`, which has host.openssh, proves to own now, by `algorithms` alone if these
/// are named ("ssh-ed25519,ecdsa-sha2-nistp256"). The keys of its jump hosts must be known.
/// Throws as the client fails, interrupted after a cancel.
std::vector<std::string> learn_host_keys(const Host& host, std::chrono::milliseconds timeout,
                                         const Cancel& cancel, const std::string& algorithms = {});

}  // namespace fastgpu::ssh
