// Root's rights on nodes: by sudo if we log in as another user.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/outcome.hpp"
#include "base/secret.hpp"
#include "envs/facts/facts.hpp"
#include "remote/agent.hpp"

namespace fastgpu::envs {

/// Throws ErrorKind::denied if a node with these facts does not allow them.
void check_rights(const NodeFacts& facts, const std::optional<Secret>& sudo_password);

/// Returns a command of the agent that runs `argv` as root. The agent itself runs by sudo: only
/// root can end root's processes.
std::string root_command(const remote::AgentHash& agent, Sudo sudo,
                         const std::vector<std::string>& argv);

/// Returns the input of such a command, for ssh::Task: the password if sudo requires it, else null.
std::function<std::optional<std::string>()> root_input(Sudo sudo,
                                                       const std::optional<Secret>& sudo_password);

/// Checks on each host whether sudo accepts the password, once; `users` are their users, in the
/// same order. Errors: denied if it does not, else as Client::run.
std::vector<Outcome<void>> try_password(ssh::Client& client, std::span<const ssh::Host> hosts,
                                        const std::vector<std::string>& users,
                                        const Secret& password, const ssh::RunOptions& options,
                                        const Cancel& cancel);

}  // namespace fastgpu::envs
