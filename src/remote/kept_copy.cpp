#include "remote/kept_copy.hpp"

#include "remote/agent_call.hpp"

namespace fastgpu::remote {
namespace {

constexpr std::size_t kLongest = 64;

transfer::Position position_in(std::string_view said) try {
  return transfer::parse_position(said.substr(0, said.find('\n')));
} catch (const Error&) {
  return {};
}

}  // namespace

std::vector<transfer::Position> kept_positions(ssh::Client& client,
                                               std::span<const ssh::Host> hosts,
                                               const std::string& key,
                                               const std::string& destination,
                                               const AgentProgram& agent,
                                               const CopyOptions& options, const Cancel& cancel) {
  std::vector<transfer::Position> positions(hosts.size());
  if (key.empty()) return positions;
  const std::vector<std::string> words = {"receive", "--position", key, "--", destination};
  const auto said = ask_agents(client, hosts, agent, words, kLongest, run_options(options), cancel);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    positions[i] = position_in(said[i]);
  return positions;
}

std::vector<std::string> resume_words(const std::string& key, const transfer::Position& from) {
  if (key.empty()) return {};
  return {"--resume", to_text(transfer::Resumption{key, from})};
}

}  // namespace fastgpu::remote
