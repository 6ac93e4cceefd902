// Whether an exchange between nodes went over RDMA, from the counters of their adapters. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
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
  /// Bytes per second that each node sent in the exchange; 0 if not all nodes used RDMA.
  double rate = 0;
  /// Bytes per second that the active ports of a node can send together, of the node with the
  /// least; 0 if it is unknown.
  double speed = 0;
};

/// The data that the nodes sent each other.
struct MeasuredExchange {
  Bytes size{};
  double rate = 0;  ///< Bytes per second that each node sent: the bus bandwidth.
};

/// Returns the ports that sent more than a thousandth of the exchange between the two looks at the
/// same nodes.
RdmaUse rdma_use(std::span<const CheckedNode> before, std::span<const CheckedNode> after,
                 const MeasuredExchange& exchange);

/// Returns the use in words: "2 of 8 active ports carried the all-reduce, at 20.1 of 50.0 GB/s on
/// each node".
std::string in_words(const RdmaUse& use);

/// Returns the finding for an exchange by TCP between nodes that all have RDMA, with `severity`;
/// absent if it used RDMA, or not all of the `nodes` nodes have it.
std::optional<Finding> tcp_finding(const RdmaUse& use, int nodes, Severity severity);

}  // namespace fastgpu::launcher
