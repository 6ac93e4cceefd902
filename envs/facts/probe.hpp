// Asks nodes what is true on them: one short shell script each, one round trip.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "envs/facts/facts.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// The script that a node's sh runs: any POSIX one; what a node lacks is left out.
std::string_view probe_script() noexcept;

/// One result for each host, in their order; `packages` are those whose versions in the node's
/// repositories are of interest. Nothing need be on the node, the agent neither. Errors as
/// Client::run and parse_facts; remote where the script ended with an error.
std::vector<HostResult<NodeFacts>> probe(ssh::Client& client, std::span<const ssh::Host> hosts,
                                         const std::vector<std::string>& packages,
                                         const ssh::RunOptions& options, const Cancel& cancel);

}  // namespace fastgpu::envs
