// One command on many hosts, supervised by the agent: processes that we start there end when we are
// gone.
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

/// Receives the output of the hosts.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// Takes output of the host with index `host` in the list. An exception ends the command on that
  /// host.
  virtual void output(std::size_t host, Channel channel, std::string_view text) = 0;
  /// Runs once for each host as it ends, after its last output.
  virtual void ended(std::size_t host) { static_cast<void>(host); }
};

enum class Delivery : std::uint8_t {
  lines,   ///< Whole lines, often several at once; see LineCutter for long ones.
  pieces,  ///< Pieces as they arrive.
};

struct ExecOptions {
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
  std::chrono::milliseconds timeout{0};    ///< The limit for each host; 0: unlimited.
  std::vector<std::string> environment{};  ///< "KEY=value"; never in an argument list there.
  /// Input with a taker for each host, in their order; null: no input.
  SharedInput* input = nullptr;
  Delivery delivery = Delivery::lines;
};

struct Executed {
  ssh::Exit exit{};
  /// The reason if the command ran without the agent, and so was not sure to end with us; mostly
  /// empty.
  std::string unsupervised{};
};

/// Runs `argv` on each host, with the arguments unchanged whatever their bytes. Installs the agent
/// if it is missing; if that fails, the command runs without it. A cancel, a timeout, our own end
/// and a lost connection end all processes of the command. Errors as Client::run.
std::vector<HostResult<Executed>> exec_everywhere(
    ssh::Client& client, std::span<const ssh::Host> hosts, const std::vector<std::string>& argv,
    const AgentProgram& agent, const ExecOptions& options, OutputSink& sink, const Cancel& cancel);

}  // namespace fastgpu::remote
