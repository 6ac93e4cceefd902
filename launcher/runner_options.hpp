// The choices of a caller that runs jobs on the nodes of a cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "launcher/contact.hpp"
#include "launcher/node_commands.hpp"
#include "remote/agent.hpp"

namespace fastgpu::launcher {

/// The limit for one command on the nodes that writes files of a job, starts it or removes it.
constexpr std::chrono::milliseconds kStartTimeout{60'000};

/// Whether the start of a job checks that its nodes reach each other.
enum class NetworkCheck : std::uint8_t { on, off };

struct RunnerOptions {
  remote::AgentProgram agent;  ///< Installed on nodes that lack it.
  std::chrono::milliseconds lease{30'000};
  std::chrono::milliseconds lost_after = kLostAfter;
  Retention retention{};
  /// Returns the mark of this state directory, for the folder of a job that starts.
  std::function<std::string()> owner = [] { return std::string(); };
  NetworkCheck network_check = NetworkCheck::on;
};

}  // namespace fastgpu::launcher
