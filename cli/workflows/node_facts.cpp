#include "cli/workflows/node_facts.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include "cli/workflows/cluster_hosts.hpp"
#include "launcher/topologies.hpp"

namespace fastgpu::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReachTimeout{5'000};
constexpr milliseconds kReportTimeout{20'000};

}  // namespace

Outcome<agent::JobNodeFacts> facts_of(Services& services, const state::Cluster& cluster,
                                      const state::Node& node) {
  const auto facts = attempt([&] {
    const milliseconds usual = services.settings().duration("connect-timeout");
    const ssh::RunOptions options{.connect_timeout = std::min(usual, kReachTimeout),
                                  .timeout = kReportTimeout};
    return launcher::ask_node(services.ssh(), to_host(services.store(), cluster, node),
                              services.agent(), options, services.cancel())
        .value();
  });
  services.cancel().check();
  return facts;
}

Outcome<agent::MachineTopology> topology_of(Services& services, const state::Cluster& cluster,
                                            const state::Node& node) {
  const auto topology = attempt([&] {
    const ssh::Host host = to_host(services.store(), cluster, node);
    return launcher::ask_topologies(services.ssh(), std::span(&host, 1), services.agent(),
                                    services.cancel())
        .front()
        .topology;
  });
  services.cancel().check();
  return topology;
}

}  // namespace fastgpu::cli
