// Contacts a host by OpenSSH's client without logging in, and returns the client's output.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

struct FirstContact {
  std::string log{};     ///< The client's own log, which hosts and proxies cannot write to.
  std::string errors{};  ///< The stderr of hosts and proxies.
};

/// Connects to `host` with `config` and with `options` that override it ("-o", "Name=value"). Does
/// not try to log in at the host itself. Throws interrupted after a cancel.
FirstContact first_contact(const Host& host, const std::string& config,
                           const std::vector<std::string>& options,
                           std::chrono::milliseconds timeout, const Cancel& cancel);

/// Returns the keys that `host`, which has host.openssh, proves to own now. If `algorithms` are
/// given ("ssh-ed25519,ecdsa-sha2-nistp256"), uses only these. The keys of its jump hosts must be
/// known. Throws the client's failure, and interrupted after a cancel.
std::vector<std::string> learn_host_keys(const Host& host, std::chrono::milliseconds timeout,
                                         const Cancel& cancel, const std::string& algorithms = {});

}  // namespace fastgpu::ssh
