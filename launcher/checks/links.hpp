// The connections between the nodes of a cluster: the orders to try them, and the evaluation of the
// answers. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/link_probe.hpp"
#include "base/names.hpp"
#include "base/outcome.hpp"
#include "launcher/checks/finding.hpp"

namespace fastgpu::launcher {

/// A node, and the address at which the others reach it.
struct LinkNode {
  NodeName name;
  std::string address;
  std::vector<std::uint16_t> ports{};  ///< The ports to listen on there.
};

/// Returns the round of a tournament in which the nodes at two places meet. In each of the rounds
/// 0 to tournament_rounds() - 1 a node meets one other at most.
int tournament_round(int a, int b, int nodes) noexcept;
int tournament_rounds(int nodes) noexcept;

/// The common part of the orders of one probe.
struct LinkProbeRequest {
  std::string secret;
  std::chrono::milliseconds slot{0};  ///< 0: the connections are tried and not measured.
  /// The number of rounds to measure; fewer than those of the tournament leave pairs out.
  int rounds = 0;
};

/// Returns the order for each node. Without measurements each node tries up to 128 others, in both
/// directions; with them each pair has one connection, from the node that comes first.
std::vector<agent::LinkPlan> link_plans(std::span<const LinkNode> nodes,
                                        const LinkProbeRequest& request);

/// Returns the time after which all answers must be there.
std::chrono::milliseconds link_limit(const LinkProbeRequest& request) noexcept;

/// The measured connection of two nodes.
struct Pair {
  NodeName from, to;
  std::string failure;  ///< Empty if the connection works.
  std::chrono::nanoseconds round_trip{0};
  std::int64_t forward = 0;   ///< Bytes per second; 0 if it was not measured.
  std::int64_t backward = 0;  ///< Bytes per second in the other direction.
};

/// The answer of one node, in the order of the nodes.
using LinkAnswers = std::vector<Outcome<agent::LinkAnswer>>;

std::vector<Pair> pairs_of(std::span<const LinkNode> nodes, const LinkAnswers& answers);

/// Returns the findings on connections that fail ("connections"), and on interfaces ("mtu").
std::vector<Finding> connection_findings(std::span<const LinkNode> nodes,
                                         const LinkAnswers& answers);

/// Returns the findings on pairs that are slower than others: "bandwidth" and "latency".
std::vector<Finding> speed_findings(std::span<const LinkNode> nodes, const LinkAnswers& answers);

}  // namespace fastgpu::launcher
