// What lies on the nodes.
#include "envs/environments/installation.hpp"

namespace fastgpu::envs {

using agent::EnvironmentStatus;

std::vector<HostResult<EnvironmentStatus>> look_at_nodes(const NodeAccess& access,
                                                         std::span<const ssh::Host> hosts,
                                                         const std::string& prefix,
                                                         const std::string& prepared) {
  NodeCall call{.words = {"env-status"}};
  if (!prepared.empty()) call.words.insert(call.words.end(), {"--prepare", prepared});
  if (!prefix.empty()) call.words.push_back(prefix);
  std::vector<HostResult<EnvironmentStatus>> out;
  for (const auto& result : call_nodes(access, hosts, [&](std::size_t) { return call; }, {})) {
    if (result.ok())
      out.push_back({result.host, agent::parse_environment_status(result.value())});
    else
      out.push_back({result.host, result.error()});
  }
  return out;
}

}  // namespace fastgpu::envs
