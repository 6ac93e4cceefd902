// An interactive session with or without a terminal: bytes are passed on in both directions as they
// arrive.
#pragma once

#include "base/cancel.hpp"
#include "ssh/client.hpp"
#include "ssh/interactive_options.hpp"

namespace fastgpu::ssh {

/// Runs the session and returns once the remote side has ended. Never forwards our agent. Throws
/// the errors of Client::run, interrupted after "~.", and local if our own output is closed.
Exit run_interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel);

}  // namespace fastgpu::ssh
