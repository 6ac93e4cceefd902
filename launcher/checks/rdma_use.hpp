// Whether an exchange between nodes went over RDMA, from the counters of their adapters. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "launcher/checks/finding.hpp"
#include "launcher/checks/node_findings.hpp"

namespace fastgpu::launcher {

/// The RDMA ports of all nodes.
struct RdmaUse {
  int active = 0;  ///< The number of active ports that count bytes.
  int used = 0;    ///< The number of those that carried a part of the exchange.
  int nodes_with_active = 0;
  int nodes_that_used = 0;
};

/// Returns the ports that sent more than a thousandth of `exchanged` between the two looks at the
/// same nodes.
RdmaUse rdma_use(std::span<const CheckedNode> before, std::span<const CheckedNode> after,
                 Bytes exchanged);

/// Returns the finding for an exchange by TCP between nodes that all have RDMA, with `severity`;
/// absent if it used RDMA, or not all of the `nodes` nodes have it.
std::optional<Finding> tcp_finding(const RdmaUse& use, int nodes, Severity severity);

}  // namespace fastgpu::launcher
