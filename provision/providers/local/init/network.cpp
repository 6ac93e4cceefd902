#include "provision/providers/local/init/network.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "provision/providers/local/links.hpp"

namespace fastgpu::provision::local {
namespace {

/// Returns all neighbours of the node: the bridge and all nodes that the cluster could have. A
/// constant number, so that a growing cluster changes nothing here.
std::vector<Ipv4> neighbours_of(Ipv4 self, Subnet subnet) {
  std::vector<Ipv4> neighbours = {subnet.bridge()};
  for (int index = 0; index < kMostNodes; ++index)
    if (subnet.node(index) != self) neighbours.push_back(subnet.node(index));
  return neighbours;
}

}  // namespace

void enter_network(const BootOrder& order, NetlinkSocket& outside) {
  const std::size_t last_dot = order.address.rfind('.');
  const auto subnet = parse_subnet(order.address.substr(0, last_dot) + ".0/24");
  if (!subnet) throw Error(ErrorKind::internal, "'" + order.address + "' is not a node's address");
  const Ipv4 self{subnet->network.bits +
                  static_cast<std::uint32_t>(std::stoul(order.address.substr(last_dot + 1)))};
  const UniqueFd own(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) throw system_error("opening the node's network namespace", errno);
  make_port(outside, order.port_name, order.bridge, own.get(), mac_of(self));
  NetlinkSocket inside;
  const auto link = find_link(inside, "eth0");
  if (!link) throw Error(ErrorKind::local, "the node's eth0 has vanished");
  bring_up_loopback(inside);
  bring_up(inside, link->index, self);
  add_neighbours(inside, link->index, neighbours_of(self, *subnet));
  add_neighbours(outside, order.bridge, std::vector{self});
  if (order.link_rate.empty()) return;
  const BitRate rate{std::stoull(order.link_rate)};
  limit_rate(inside, link->index, rate);
  limit_rate(outside, link->peer, rate);
}

}  // namespace fastgpu::provision::local
