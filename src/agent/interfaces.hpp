// The network interfaces of this node.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fastgpu::agent {

struct Interface {
  std::string name;     ///< "eth0"
  std::string address;  ///< "10.0.0.7/24"
  int mtu = 0;          ///< 0 if it is unknown.
};

/// Returns the addresses of the interfaces that are up, except loopback and link-local ones.
std::vector<Interface> own_interfaces();

/// Returns the name of the first interface with an IPv4 address in `network` ("10.0.0.0/29");
/// absent if there is none, or `network` is malformed. Pure.
std::optional<std::string> interface_in(const std::string& network,
                                        std::span<const Interface> interfaces);

}  // namespace fastgpu::agent
