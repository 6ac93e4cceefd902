// One session at the user's fingertips by OpenSSH's client, which has our streams and terminal.
#pragma once

#include "ssh/interactive.hpp"

namespace fastgpu::ssh {

/// As run_interactive(), for a host with host.openssh. The terminal and its keys are the client's:
/// options.on_started is not called, and "~." makes the client itself leave.
Exit run_openssh_session(const Host& host, const InteractiveOptions& options, const Cancel& cancel);

}  // namespace fastgpu::ssh
