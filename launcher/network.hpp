// The network that joins the nodes, found from their addresses. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace fastgpu::launcher {

/// The smallest IPv4 network that holds all of `addresses`, as "10.0.0.0/29"; by it every node
/// finds the interface to use. Absent for fewer than two different addresses, for anything but
/// IPv4, and where nothing smaller than a /8 holds them all: then the nodes choose by themselves.
std::optional<std::string> covering_network(std::span<const std::string> addresses);

}  // namespace fastgpu::launcher
