// Root's rights on nodes: by sudo where we are somebody else there.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "envs/facts/facts.hpp"
#include "remote/agent.hpp"

namespace fastgpu::envs {

/// Throws ErrorKind::denied where they cannot be had on a node with these facts.
void check_rights(const NodeFacts& facts, const std::optional<Secret>& sudo_password);

/// A command of the agent that runs `argv` as root. The agent itself runs by sudo: root's processes
/// can be ended by root alone.
std::string root_command(const remote::AgentHash& agent, Sudo sudo,
                         const std::vector<std::string>& argv);

/// What such a command reads first, for ssh::Task: the password where sudo asks for it, else null.
std::function<std::optional<std::string>()> root_input(Sudo sudo,
                                                       const std::optional<Secret>& sudo_password);

/// Asks sudo on each host whether it takes the password, once; `users` are their users, in the same
/// order. Errors: denied where it does not, else as Client::run.
std::vector<std::optional<Error>> try_password(
    ssh::Client& client, std::span<const ssh::Host> hosts, const std::vector<std::string>& users,
    const Secret& password, const ssh::RunOptions& options, const Cancel& cancel);

}  // namespace fastgpu::envs
