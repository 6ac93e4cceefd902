// Clouds' notices that they will take machines back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

struct Notice {
  NodeName node{};
  std::int64_t taken_back = 0;  ///< The time in seconds since 1970; 0 if the node is only at risk.
  std::int64_t at_risk = 0;
};

/// Returns true if the cluster consists of spot machines, which the cloud may take back.
bool is_spot(const state::Cluster& cluster);

/// Asks the nodes of a spot cluster for notices. Skips nodes that do not answer soon.
std::vector<Notice> notices_of(Services& services, const state::Cluster& cluster,
                               const std::vector<state::Node>& nodes);

/// Returns the sentence for the user: "node t-1 is taken back at 2026-11-22T07:18:00Z by the
/// cloud".
std::string text_of(const Notice& notice);

/// Shows the notice as a warning.
void warn_of(Messages& messages, const Notice& notice);

}  // namespace fastgpu::cli
