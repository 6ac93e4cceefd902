// The parts of a cluster in a network namespace: bridge, veth pairs, addresses, shaped links.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "provision/providers/local/netlink.hpp"
#include "provision/providers/local/subnet.hpp"

namespace fastgpu::provision::local {

using MacAddress = std::array<std::uint8_t, 6>;

/// Returns a locally administered address, derived from the IP address, so that it is known at
/// once.
MacAddress mac_of(Ipv4 address) noexcept;

struct NetworkInterface {
  int index = 0;
  std::string name;
  std::string alias;
  int peer = 0;  ///< The index of the other end of a veth pair, in its own namespace.
};

std::string bridge_name(std::string_view cluster_id);          ///< "fg-0a1b2c3d"
std::string port_name(std::string_view cluster_id, int node);  ///< "fg0a1b2c3d-12", on this machine
/// Returns the cluster of a name made by bridge_name; "" for every other name.
std::string cluster_of_bridge(std::string_view name);

std::vector<NetworkInterface> list_links(NetlinkSocket& socket);
std::optional<NetworkInterface> find_link(NetlinkSocket& socket, const std::string& name);

/// Returns all addresses and routes of this machine except the default route.
std::vector<AddressRange> used_ranges(NetlinkSocket& socket);

/// Makes the bridge with its mark, or does nothing if it exists. In one step: a kill leaves either
/// nothing or a bridge with its mark.
void make_bridge(NetlinkSocket& socket, const std::string& name, const std::string& alias,
                 MacAddress mac);

/// Gives `link` the address with its /24 and switches it on. May be repeated.
void bring_up(NetlinkSocket& socket, int link, Ipv4 address);
void bring_up_loopback(NetlinkSocket& socket);

/// Makes a veth pair: `port` on the bridge with that index here, "eth0" in the namespace behind
/// `namespace_fd`. A port of that name, left by a node that has just died, is replaced.
void make_port(NetlinkSocket& socket, const std::string& port, int bridge, int namespace_fd,
               MacAddress mac);

/// Adds fixed entries, so that the traffic between many nodes does not overrun the machine's table.
void add_neighbours(NetlinkSocket& socket, int link, std::span<const Ipv4> addresses);

void limit_rate(NetlinkSocket& socket, int link, BitRate rate);

/// Deletes the links that exist; the names of others are ignored.
void delete_links(NetlinkSocket& socket, std::span<const std::string> names);

}  // namespace fastgpu::provision::local
