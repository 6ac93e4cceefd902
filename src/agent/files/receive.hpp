// `receive`: the remote side of a copy to this node.
#pragma once

#include "agent/subcommands.hpp"

namespace fastgpu::agent {

/// Runs `receive [--several] -- DESTINATION < STREAM`.
int run_receive(Arguments arguments);

}  // namespace fastgpu::agent
