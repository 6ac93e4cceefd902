// `send`: the remote side of a copy from this node.
#pragma once

#include "agent/subcommands.hpp"

namespace fastgpu::agent {

/// Runs `send -- SOURCE... > STREAM`.
int run_send(Arguments arguments);

}  // namespace fastgpu::agent
