// The network that joins the nodes, found from their addresses. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fastgpu::launcher {

/// The smallest IPv4 network that holds all of `addresses`, as "10.0.0.0/29"; by it every node
/// finds the interface to use. Absent for fewer than two different addresses, for anything but
/// IPv4, and where nothing smaller than a /8 holds them all: then the nodes choose by themselves.
std::optional<std::string> covering_network(std::span<const std::string> addresses);

/// The addresses of a node, for the search for a network that joins all of them.
struct NodeAddresses {
  std::string known_as{};          ///< The address or name for other nodes.
  std::vector<std::string> own{};  ///< Those of interfaces: "10.0.0.7/24".
  std::string ssh_address{};       ///< The one that our login came to; empty: unknown.
};

/// Returns one own address of each node, in a network that joins them all: the addresses by which
/// they are known, if those are their own; else those in the one subnet that all share, with
/// preference for the one of which most is known; else those at which we came in. Addresses that
/// several nodes have, as those of docker0, join nothing. Empty if no way finds one.
std::vector<std::string> joining_addresses(std::span<const NodeAddresses> nodes);

}  // namespace fastgpu::launcher
