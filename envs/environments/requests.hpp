// What a node's agent is asked for when an environment is solved and built. Pure.
#pragma once

#include <string>

#include "agent/protocol/environment.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

agent::SolveRequest solve_request(const EnvironmentSpec& spec, const agent::BuilderChoice& builder,
                                  const std::string& prefix);

/// `tools` is the hash of the toolbox on the node.
agent::BuildRequest build_request(const EnvironmentLock& lock, const std::string& prefix,
                                  const std::string& tools, std::chrono::seconds patience);

}  // namespace fastgpu::envs
