#include "cli/workflows/node_facts.hpp"

#include <algorithm>
#include <chrono>

#include "cli/workflows/cluster_hosts.hpp"

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

}  // namespace fastgpu::cli
