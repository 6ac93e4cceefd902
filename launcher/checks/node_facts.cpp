#include "launcher/checks/node_facts.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "remote/agent_call.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::size_t kMaxFacts = 1UL << 20U;
constexpr std::size_t kMaxComplaint = 200;

void keep_facts(std::string& text, std::string_view piece) {
  text += piece.substr(0, kMaxFacts - std::min(kMaxFacts, text.size()));
}

}  // namespace

Outcome<agent::JobNodeFacts> ask_node(ssh::Client& client, const ssh::Host& host,
                                      const remote::AgentProgram& agent,
                                      const ssh::RunOptions& options, const Cancel& cancel) {
  std::string out;
  std::string err;
  const std::string command = remote::agent_command(agent.hash, std::vector<std::string>{"facts"});
  const auto task = [&](std::size_t) {
    out.clear();
    err.clear();
    return ssh::Task{.host = host,
                     .command = command,
                     .on_stdout = [&](std::string_view piece) { keep_facts(out, piece); },
                     .on_stderr = [&](std::string_view piece) { keep_facts(err, piece); }};
  };
  const auto results =
      remote::call_agent(client, std::span(&host, 1), agent, task, options, cancel);
  return attempt([&] {
    const int code = results.front().exit.value().code();
    if (code != 0)
      throw Error(agent::kind_of_exit(code), "the agent ended with " + std::to_string(code) + ": " +
                                                 printable(err, kMaxComplaint));
    return agent::parse_node_facts(out);
  });
}

}  // namespace fastgpu::launcher
