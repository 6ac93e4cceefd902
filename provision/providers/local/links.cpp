#include "provision/providers/local/links.hpp"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr int kCreate = NLM_F_CREATE | NLM_F_EXCL;
constexpr std::size_t kIdLength = 8;

ifinfomsg link_header(int index = 0, unsigned flags = 0) {
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = index;
  header.ifi_flags = flags;
  header.ifi_change = flags;
  return header;
}

void check(int error_number, const std::string& doing) {
  if (error_number != 0 && error_number != EEXIST) throw system_error(doing, error_number);
}

/// Returns a message that turns off automatic IPv6 addresses: they are unused, and the search for
/// duplicates costs time and noise. It fails without IPv6, which is equally good.
NetlinkMessage without_ipv6(const std::string& name, int index = 0) {
  NetlinkMessage message(RTM_SETLINK, 0, link_header(index));
  if (!name.empty()) message.put_text(IFLA_IFNAME, name);
  constexpr std::uint8_t kNoAddress = 1;  // IN6_ADDR_GEN_MODE_NONE
  message.nest(IFLA_AF_SPEC, [&](NetlinkMessage& families) {
    families.nest(AF_INET6,
                  [&](NetlinkMessage& inet6) { inet6.put(IFLA_INET6_ADDR_GEN_MODE, kNoAddress); });
  });
  return message;
}

NetlinkMessage new_port(const std::string& port, int bridge, int namespace_fd, MacAddress mac) {
  NetlinkMessage message(RTM_NEWLINK, kCreate, link_header(0, IFF_UP));
  message.put_text(IFLA_IFNAME, port).put(IFLA_MASTER, bridge);
  message.nest(IFLA_LINKINFO, [&](NetlinkMessage& info) {
    info.put_text(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, [&](NetlinkMessage& data) {
      data.nest(VETH_INFO_PEER, [&](NetlinkMessage& peer) {
        peer.append_header(link_header());
        peer.put_text(IFLA_IFNAME, "eth0").put(IFLA_ADDRESS, mac);
        peer.put(IFLA_NET_NS_FD, namespace_fd);
      });
    });
  });
  return message;
}

std::optional<NetworkInterface> read_link(std::span<const std::byte> payload) {
  const auto header = netlink_header<ifinfomsg>(payload);
  if (payload.size() < sizeof header) return std::nullopt;
  NetworkInterface link;
  link.index = header.ifi_index;
  for (const auto& attribute : netlink_attributes(payload.subspan(sizeof header))) {
    if (attribute.type == IFLA_IFNAME) link.name = attribute.text();
    if (attribute.type == IFLA_IFALIAS) link.alias = attribute.text();
    if (attribute.type == IFLA_LINK) link.peer = static_cast<int>(attribute.number());
  }
  return link;
}

Ipv4 read_address(const NetlinkAttribute& attribute) {
  return {ntohl(attribute.number())};
}

}  // namespace

MacAddress mac_of(Ipv4 address) noexcept {
  const auto byte = [&](unsigned shift) {
    return static_cast<std::uint8_t>(address.bits >> shift & 255U);
  };
  return {0x02, 0xfa, byte(24), byte(16), byte(8), byte(0)};
}

std::string bridge_name(std::string_view cluster_id) {
  return "fg-" + std::string(cluster_id.substr(0, kIdLength));
}

std::string port_name(std::string_view cluster_id, int node) {
  return "fg" + std::string(cluster_id.substr(0, kIdLength)) + "-" + std::to_string(node);
}

std::string cluster_of_bridge(std::string_view name) {
  return name.starts_with("fg-") ? std::string(name.substr(3)) : std::string();
}

std::vector<NetworkInterface> list_links(NetlinkSocket& socket) {
  std::vector<NetworkInterface> links;
  socket.dump(NetlinkMessage(RTM_GETLINK, NLM_F_DUMP, link_header()),
              [&](std::span<const std::byte> payload) {
                if (auto link = read_link(payload)) links.push_back(*link);
              });
  return links;
}

std::optional<NetworkInterface> find_link(NetlinkSocket& socket, const std::string& name) {
  const std::vector<NetworkInterface> links = list_links(socket);
  const auto found = std::ranges::find(links, name, &NetworkInterface::name);
  return found == links.end() ? std::nullopt : std::optional(*found);
}

std::vector<AddressRange> used_ranges(NetlinkSocket& socket) {
  std::vector<AddressRange> used;
  ifaddrmsg address{};
  address.ifa_family = AF_INET;
  socket.dump(NetlinkMessage(RTM_GETADDR, NLM_F_DUMP, address),
              [&](std::span<const std::byte> payload) {
                const auto header = netlink_header<ifaddrmsg>(payload);
                for (const auto& a : netlink_attributes(payload.subspan(sizeof header)))
                  if (a.type == IFA_ADDRESS || a.type == IFA_LOCAL)
                    used.push_back(range_of(read_address(a), header.ifa_prefixlen));
              });
  rtmsg route{};
  route.rtm_family = AF_INET;
  socket.dump(NetlinkMessage(RTM_GETROUTE, NLM_F_DUMP, route),
              [&](std::span<const std::byte> payload) {
                const auto header = netlink_header<rtmsg>(payload);
                for (const auto& a : netlink_attributes(payload.subspan(sizeof header)))
                  if (a.type == RTA_DST && header.rtm_dst_len > 0)
                    used.push_back(range_of(read_address(a), header.rtm_dst_len));
              });
  return used;
}

void make_bridge(NetlinkSocket& socket, const std::string& name, const std::string& alias,
                 MacAddress mac) {
  NetlinkMessage made(RTM_NEWLINK, kCreate, link_header());
  made.put_text(IFLA_IFNAME, name).put(IFLA_ADDRESS, mac);
  made.nest(IFLA_LINKINFO, [](NetlinkMessage& info) { info.put_text(IFLA_INFO_KIND, "bridge"); });
  NetlinkMessage marked(RTM_SETLINK, 0, link_header());
  marked.put_text(IFLA_IFNAME, name).put_text(IFLA_IFALIAS, alias);
  const auto results = socket.request(std::vector{made, marked, without_ipv6(name)});
  check(results[0], "making the bridge " + name);
  // A bridge without its mark would stay: `gc` finds bridges by it.
  if (results[1] != 0) delete_links(socket, std::vector{name});
  check(results[1], "marking the bridge " + name);
}

void bring_up(NetlinkSocket& socket, int link, Ipv4 address) {
  const std::uint32_t network_order = htonl(address.bits);
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = 24;
  header.ifa_index = static_cast<std::uint32_t>(link);
  NetlinkMessage addressed(RTM_NEWADDR, kCreate, header);
  addressed.put(IFA_LOCAL, network_order).put(IFA_ADDRESS, network_order);
  addressed.put(IFA_BROADCAST, htonl(address.bits | 255U));
  const NetlinkMessage up(RTM_NEWLINK, 0, link_header(link, IFF_UP));
  const auto results = socket.request(std::vector{without_ipv6("", link), addressed, up});
  check(results[1], "setting the address " + to_string(address));
  check(results[2], "switching on the link with " + to_string(address));
}

void bring_up_loopback(NetlinkSocket& socket) {
  check(socket.request(NetlinkMessage(RTM_NEWLINK, 0, link_header(1, IFF_UP))),
        "switching on the loopback link");
}

void make_port(NetlinkSocket& socket, const std::string& port, int bridge, int namespace_fd,
               MacAddress mac) {
  const NetlinkMessage message = new_port(port, bridge, namespace_fd, mac);
  int result = socket.request(message);
  if (result == EEXIST) {
    delete_links(socket, std::vector{port});
    result = socket.request(message);
  }
  if (result != 0) throw system_error("making the link " + port, result);
  socket.request(without_ipv6(port));
}

void add_neighbours(NetlinkSocket& socket, int link, std::span<const Ipv4> addresses) {
  ndmsg header{};
  header.ndm_family = AF_INET;
  header.ndm_ifindex = link;
  header.ndm_state = NUD_PERMANENT;
  std::vector<NetlinkMessage> messages;
  for (const Ipv4 address : addresses) {
    messages.emplace_back(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, header);
    messages.back().put(NDA_DST, htonl(address.bits)).put(NDA_LLADDR, mac_of(address));
  }
  for (const int result : socket.request(messages))
    check(result, "setting a neighbour's address");
}

void delete_links(NetlinkSocket& socket, std::span<const std::string> names) {
  std::vector<NetlinkMessage> messages;
  for (const std::string& name : names)
    messages.emplace_back(RTM_DELLINK, 0, link_header()).put_text(IFLA_IFNAME, name);
  for (const int result : socket.request(messages))
    if (result != ENODEV) check(result, "deleting a network link");
}

}  // namespace fastgpu::provision::local
