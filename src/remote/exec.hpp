// One command on many hosts, under the agent's eyes: what we start there ends when we are gone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "remote/agent.hpp"
#include "remote/shared_input.hpp"
#include "ssh/client.hpp"

namespace fastgpu::remote {

enum class Channel : std::uint8_t { out, err };

/// Where the output of the hosts goes.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// `host` is the index in the list of hosts. What it throws ends the command on that host.
  virtual void output(std::size_t host, Channel channel, std::string_view text) = 0;
  /// Called once for each host as it ends, after its last output.
  virtual void ended(std::size_t host) { static_cast<void>(host); }
};

enum class Delivery : std::uint8_t {
  lines,   ///< Whole lines, often several at once; see LineCutter for long ones.
  pieces,  ///< As it arrives.
};

struct ExecOptions {
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
  std::chrono::milliseconds timeout{0};    ///< For each host; 0 is without end.
  std::vector<std::string> environment{};  ///< "KEY=value"; never part of an argument list there.
  SharedInput* input = nullptr;  ///< With a taker for each host, in their order; null: no input.
  Delivery delivery = Delivery::lines;
};

struct Executed {
  ssh::Exit exit{};
  /// Why the command ran without the agent, and so was not sure to end with us; mostly empty.
  std::string unsupervised{};
};

/// Runs `argv` on each host, arguments unchanged whatever their bytes. The agent is put where it is
/// missing; where that cannot be, the command runs without it. A cancel, a time-out, our own end
/// and a lost connection end what was started. Errors as Client::run.
std::vector<HostResult<Executed>> exec_everywhere(
    ssh::Client& client, std::span<const ssh::Host> hosts, const std::vector<std::string>& argv,
    const AgentProgram& agent, const ExecOptions& options, OutputSink& sink, const Cancel& cancel);

}  // namespace fastgpu::remote
