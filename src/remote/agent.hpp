// The agent program on the hosts: its path, commands that run it, and its installation.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ssh/client.hpp"

namespace fastgpu::remote {

/// The first 16 hexadecimal digits of a SHA-256 over the agent programs. It is part of the
/// program's name on the hosts, so that several versions can coexist and an existing one need not
/// be checked.
using AgentHash = Strong<struct AgentHashTag, std::string>;

/// A kind of processor as `uname -m` names it: "x86_64", "aarch64".
using MachineName = Strong<struct MachineNameTag, std::string>;
using AgentFiles = std::map<MachineName, std::filesystem::path>;

/// The agent for this machine's processor, and those for hosts with other processors.
struct AgentProgram {
  std::filesystem::path file;
  AgentHash hash;
  AgentFiles others{};
};

/// Reads the programs and computes their hash. Throws ErrorKind::local if a program cannot be read.
AgentProgram read_agent_program(const std::filesystem::path& file, AgentFiles others = {});

/// Returns the program's path on a host, relative to the home directory.
std::string agent_path(const AgentHash& hash);

/// Returns a command line for the login shell that replaces itself by the agent with `arguments`,
/// so that the agent's exit status and signal are those of the session. Shells report 127 if the
/// program is missing, or empty after a power failure.
std::string agent_command(const AgentHash& hash, std::span<const std::string> arguments = {});

/// Returns such a command line that starts the agent with `starter`, such as `sudo -n --`. Thus the
/// agent, which may have to end the command, has the same rights as the command.
std::string agent_command_by(std::span<const std::string> starter, const AgentHash& hash,
                             std::span<const std::string> arguments);

/// Returns true if a command of agent_command() failed because the host has no agent.
bool agent_missing(const AgentHash& hash, const ssh::Exit& exit, std::string_view error_output);

struct AgentInstalled {};

/// Copies to each host the agent for its processor, even if the host has one already. It goes into
/// ~/.fastgpu/bin, a directory with mode 0700, is checked there by sha256sum, and becomes visible
/// only once it is complete. Idempotent, and safe for several calls at once. Errors: capacity if
/// the disk is full, denied if the home directory is not writable, remote for a processor without a
/// program and for other answers, else as Client::run.
std::vector<HostResult<AgentInstalled>> install_agent(ssh::Client& client,
                                                      std::span<const ssh::Host> hosts,
                                                      const AgentProgram& program,
                                                      const ssh::RunOptions& options,
                                                      const Cancel& cancel);

}  // namespace fastgpu::remote
