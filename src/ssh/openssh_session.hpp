// An interactive session by OpenSSH's client, which uses our streams and terminal directly.
#pragma once

#include "base/cancel.hpp"
#include "ssh/client.hpp"
#include "ssh/interactive_options.hpp"

namespace fastgpu::ssh {

/// Runs a session like run_interactive(), for a host with host.openssh. The client handles the
/// terminal and its keys: options.on_started is not called, and "~." ends the client itself.
Exit run_openssh_session(const Host& host, const InteractiveOptions& options, const Cancel& cancel);

}  // namespace fastgpu::ssh
