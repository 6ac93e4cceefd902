// The network that joins the nodes, found from their addresses. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fastgpu::launcher {

/// Returns the smallest IPv4 network that contains all of `addresses`, as "10.0.0.0/29": each node
/// uses its interface in that network. Absent for fewer than two different addresses, for other
/// addresses than IPv4, and if only a /8 or larger contains them all: the nodes choose then.
std::optional<std::string> covering_network(std::span<const std::string> addresses);

/// The addresses of a node, for the search for a network that joins all of them.
struct NodeAddresses {
  std::string known_as{};          ///< The address or name for other nodes.
  std::vector<std::string> own{};  ///< The addresses of its interfaces: "10.0.0.7/24".
  std::string ssh_address{};       ///< The address that our login reached; empty if unknown.
};

/// Returns one address of each node, all in a network that joins the nodes. Tries in this order:
/// the addresses by which the nodes are known, if the nodes have them; the addresses in a subnet
/// that all nodes share, preferably of the best known addresses; the addresses that our logins
/// reached. Ignores addresses that several nodes have, such as docker0's. Empty without such a
/// network.
std::vector<std::string> joining_addresses(std::span<const NodeAddresses> nodes);

}  // namespace fastgpu::launcher
