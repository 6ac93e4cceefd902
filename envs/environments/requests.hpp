// What a node's agent is asked for when an environment is solved and built. Pure.
#pragma once

#include <string>

#include "agent/protocol/environment.hpp"
#include "envs/environments/installation.hpp"
#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

agent::SolveRequest solve_request(const EnvironmentSpec& spec, const agent::BuilderChoice& builder,
                                  const std::string& prefix);

/// `tools` is the hash of the toolbox on the node.
agent::BuildRequest build_request(const EnvironmentLock& lock, const std::string& prefix,
                                  const std::string& tools, std::chrono::seconds patience,
                                  const IndexLogins& logins);

/// The addresses of the indexes and channels that a spec names; of a channel that is a name, the
/// one that it stands for.
std::vector<std::string> named_addresses(const EnvironmentSpec& spec);

/// What is fetched to solve the request's spec, or to build its lock where it has one.
FetchPlan fetch_plan(const InstallationRequest& request);

}  // namespace fastgpu::envs
