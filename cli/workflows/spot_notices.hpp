// CloudFactory' notices to machines that they may take back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

struct Notice {
  NodeName node{};
  std::int64_t taken_back = 0;  ///< Seconds since 1970; 0: it is only `at_risk`.
  std::int64_t at_risk = 0;
};

/// Returns true if the cluster is made of machines that its cloud may take back.
bool is_spot(const state::Cluster& cluster);

/// Asks the nodes of such a cluster, in passing: a node that does not answer soon is ignored.
std::vector<Notice> notices_of(Services& services, const state::Cluster& cluster,
                               const std::vector<state::Node>& nodes);

/// Returns "node t-1 is taken back at 2026-11-22T07:18:00Z by the cloud".
std::string text_of(const Notice& notice);

/// Warns, if there is a notice.
void warn_of(Messages& messages, const Notice& notice);

}  // namespace fastgpu::cli
