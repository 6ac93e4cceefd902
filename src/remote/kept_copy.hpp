// The parts of interrupted copies that nodes have kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "remote/agent.hpp"
#include "remote/copy_options.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::remote {

/// Returns how much each host has of the copy with that key, in one round trip. A host that has
/// nothing of it or does not answer is at the start. Without a key all hosts are at the start, and
/// none is contacted.
std::vector<transfer::Position> kept_positions(ssh::Client& client,
                                               std::span<const ssh::Host> hosts,
                                               const std::string& key,
                                               const std::string& destination,
                                               const AgentProgram& agent,
                                               const CopyOptions& options, const Cancel& cancel);

/// Returns the agent's arguments for resuming the copy from `from`; empty without a key.
std::vector<std::string> resume_words(const std::string& key, const transfer::Position& from);

}  // namespace fastgpu::remote
