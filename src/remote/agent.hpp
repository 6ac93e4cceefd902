// The agent program on the hosts: its place, its calls, its installation.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ssh/client.hpp"

namespace fastgpu::remote {

/// The first 16 hexadecimal digits of a SHA-256 over the agent programs. It is in the program's
/// name on the hosts, so that versions coexist and a present one need not be checked.
using AgentHash = Strong<struct AgentHashTag, std::string>;

/// A kind of processor as `uname -m` names it: "x86_64", "aarch64".
using MachineName = Strong<struct MachineNameTag, std::string>;
using AgentFiles = std::map<MachineName, std::filesystem::path>;

/// The agent program of this machine, and those for hosts with other processors.
struct AgentProgram {
  std::filesystem::path file;
  AgentHash hash;
  AgentFiles others{};
};

/// Reads the program's hash. Throws ErrorKind::local if a program cannot be read.
AgentProgram read_agent_program(const std::filesystem::path& file, AgentFiles others = {});

/// Returns the program's path on a host, relative to the home directory.
std::string agent_path(const AgentHash& hash);

/// Returns a command line for the remote login shell that becomes the agent with `arguments`. So
/// its exit status and signal are those of the session. Shells report 127 if the program is
/// missing, or empty, as a power cut may leave it.
std::string agent_command(const AgentHash& hash, std::span<const std::string> arguments = {});

/// Returns such a command line with the agent started by `starter`, such as `sudo -n --`. The
/// process that ends the command then has the same rights as the command.
std::string agent_command_by(std::span<const std::string> starter, const AgentHash& hash,
                             std::span<const std::string> arguments);

/// Returns whether a command built by agent_command ended because the agent is not on that host.
bool agent_missing(const AgentHash& hash, const ssh::Exit& exit, std::string_view error_output);

struct AgentInstalled {};

/// Puts on each host the agent for its processor, whether it is there or not. It goes into
/// ~/.fastgpu/bin, directory mode 0700, is checked by sha256sum on the host, and is visible only
/// once complete. Idempotent, and safe with several at once. Errors: capacity if the disk is full,
/// denied if the home directory cannot be written, remote also for a processor without a program,
/// else as Client::run.
std::vector<HostResult<AgentInstalled>> install_agent(ssh::Client& client,
                                                      std::span<const ssh::Host> hosts,
                                                      const AgentProgram& program,
                                                      const ssh::RunOptions& options,
                                                      const Cancel& cancel);

}  // namespace fastgpu::remote
