// The command that starts a program on another node of a job, over ssh.
#pragma once

#include <string>
#include <vector>

#include "agent/options.hpp"

namespace fastgpu::agent {

/// The words "[-x] [-F SSH_CONFIG] HOST COMMAND..." in their parts.
struct RemoteStart {
  std::vector<std::string> ssh;  ///< The command of ssh, up to the name of the node.
  std::string node;              ///< The name of the node in the configuration of ssh.
  std::string command;           ///< The command for a login shell there.
};

/// Throws usage if the words do not name a node.
RemoteStart take_remote_start(OptionReader& words);

/// Returns the command line of ssh that runs `start.command` with the job's marker, in a form that
/// every login shell reads in the same way.
std::vector<std::string> ssh_command(const RemoteStart& start);

/// Replaces this process by the program. Throws if that is not possible.
[[noreturn]] void become(std::vector<std::string> command);

}  // namespace fastgpu::agent
