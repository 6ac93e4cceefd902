// The present report of a node about itself.
#pragma once

#include "cli/workflows/services.hpp"
#include "launcher/binding.hpp"
#include "launcher/checks/node_facts.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Asks a running node for its facts as launcher::ask_node() does, for some seconds at most. Throws
/// after a cancel.
Outcome<agent::JobNodeFacts> facts_of(Services& services, const state::Cluster& cluster,
                                      const state::Node& node);

/// Asks a running node for its processors and devices. Throws after a cancel.
Outcome<agent::MachineTopology> topology_of(Services& services, const state::Cluster& cluster,
                                            const state::Node& node);

}  // namespace fastgpu::cli
