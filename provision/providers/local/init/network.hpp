// The node's own network: one link to the cluster's bridge.
#pragma once

#include "provision/providers/local/netlink.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {

/// Enters the network. Run in the new network namespace; `outside` is a socket of this machine's.
void enter_network(const BootOrder& order, NetlinkSocket& outside);

}  // namespace fastgpu::provision::local
