// Collects facts from nodes: one short shell script each, one round trip.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "envs/facts/facts.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// Returns the script for a node's sh: any POSIX one; it leaves out missing things.
std::string_view probe_script() noexcept;

/// Returns one result for each host, in their order. `packages` are those whose versions in the
/// node's repositories are of interest. The nodes need no agent and no other programs. Errors as
/// Client::run and parse_facts; remote if the script ended with an error.
std::vector<HostResult<NodeFacts>> probe(ssh::Client& client, std::span<const ssh::Host> hosts,
                                         const std::vector<std::string>& packages,
                                         const ssh::RunOptions& options, const Cancel& cancel);

}  // namespace fastgpu::envs
