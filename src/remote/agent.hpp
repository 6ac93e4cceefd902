// The agent program on the hosts: where it lies, how it is called, how it gets there.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ssh/client.hpp"

namespace fastgpu::remote {

/// The first 16 hexadecimal digits of the SHA-256 of an agent program. It is in the program's name
/// on the hosts, so that versions live side by side and a present one need not be checked.
using AgentHash = Strong<struct AgentHashTag, std::string>;

/// The agent program of this machine, which all hosts get.
struct AgentProgram {
  std::filesystem::path file;
  AgentHash hash;
};

/// Throws ErrorKind::local where the program cannot be read.
AgentProgram read_agent_program(const std::filesystem::path& file);

/// Where the program lies on a host, as seen from home.
std::string agent_path(const AgentHash& hash);

/// A command line for the remote login shell that turns into the agent with `arguments`, so that
/// its exit status and signal are those of the session. Shells report 127 where it is missing.
std::string agent_command(const AgentHash& hash, std::span<const std::string> arguments = {});

/// Whether a command built by agent_command ended because the agent is not on that host.
bool agent_missing(const AgentHash& hash, const ssh::Exit& exit, std::string_view error_output);

struct AgentInstalled {};

/// Puts the agent on each host, whether it is there or not: ~/.fastgpu/bin, directory mode 0700,
/// checked by sha256sum on the host, visible only once complete. Idempotent, and safe with several
/// at once. Errors: capacity where the disk is full, denied where the home directory cannot be
/// written, else remote or as Client::run.
std::vector<HostResult<AgentInstalled>> install_agent(ssh::Client& client,
                                                      std::span<const ssh::Host> hosts,
                                                      const AgentProgram& program,
                                                      const ssh::RunOptions& options,
                                                      const Cancel& cancel);

}  // namespace fastgpu::remote
