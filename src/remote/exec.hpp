// Runs one command on many hosts, supervised by the agent: its processes end if we do.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "remote/agent.hpp"
#include "remote/shared_input.hpp"
#include "ssh/client.hpp"

namespace fastgpu::remote {

enum class OutputChannel : std::uint8_t { out, err };

/// Receives the output of the hosts.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// Receives output of the host with index `host`. An exception ends the command on that host.
  virtual void output(std::size_t host, OutputChannel channel, std::string_view text) = 0;
  /// Called once for each host as it ends, after its last output.
  virtual void ended(std::size_t host) { static_cast<void>(host); }
};

enum class Delivery : std::uint8_t {
  lines,   ///< Whole lines, often several at once. LineCutter describes long lines.
  pieces,  ///< Pieces of any size, as they arrive.
};

struct ExecOptions {
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
  std::chrono::milliseconds timeout{0};  ///< The limit for each host; 0 for no limit.
  /// "KEY=value". Not visible in an argument list on the host.
  std::vector<std::string> environment{};
  /// The input for all hosts. It has a taker for each host, in their order. Null for no input.
  SharedInput* input = nullptr;
  Delivery delivery = Delivery::lines;
};

struct Executed {
  ssh::Exit exit{};
  /// The reason if the command ran without the agent, and therefore might outlive us; otherwise
  /// empty.
  std::string unsupervised{};
};

/// Runs `argv` on each host, with arguments of any bytes. Installs the agent if it is missing; if
/// that fails, runs the command without it. A cancel, a timeout, the end of our process and a lost
/// connection end all processes of the command. Errors as for Client::run.
std::vector<HostResult<Executed>> exec_everywhere(
    ssh::Client& client, std::span<const ssh::Host> hosts, const std::vector<std::string>& argv,
    const AgentProgram& agent, const ExecOptions& options, OutputSink& sink, const Cancel& cancel);

}  // namespace fastgpu::remote
