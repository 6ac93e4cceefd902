// What nodes have kept of a copy that was cut off.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "remote/copy.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::remote {

/// How far each host has the copy with that key: one round trip. Who has nothing
/// of it, or does not answer, is at the start. Without a key all are, and nobody is asked.
std::vector<transfer::Position> kept_positions(ssh::Client& client,
                                               std::span<const ssh::Host> hosts,
                                               const std::string& key,
                                               const std::string& destination,
                                               const AgentProgram& agent,
                                               const CopyOptions& options, const Cancel& cancel);

/// The agent's words for taking part in it from there on; none without a key.
std::vector<std::string> resume_words(const std::string& key, const transfer::Position& from);

}  // namespace fastgpu::remote
