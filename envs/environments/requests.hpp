// Requests to a node's agent for solving and building an environment. Pure.
#pragma once

#include <string>

#include "agent/protocol/environment.hpp"
#include "envs/environments/installation_request.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

agent::SolveRequest solve_request(const EnvironmentSpec& spec, const agent::BuilderChoice& builder,
                                  const std::string& prefix);

/// Returns the request; `tools` is the hash of the toolbox on the node.
agent::BuildRequest build_request(const EnvironmentLock& lock, const std::string& prefix,
                                  const std::string& tools, std::chrono::seconds index_timeout,
                                  const IndexLogins& logins);

/// Returns the addresses of the indexes and channels that a spec names, with the names of channels
/// replaced by their addresses.
std::vector<std::string> named_addresses(const EnvironmentSpec& spec);

/// Returns the addresses needed to solve the request's spec, or to build its lock if it has one.
FetchPlan fetch_plan(const InstallationRequest& request);

}  // namespace fastgpu::envs
