#include "agent/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/numbers.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

/// Returns an address with the length of its mask: "10.0.0.7/24".
template <class Address>
std::string written(int family, const Address& address, const Address& mask) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  std::array<unsigned char, sizeof mask> bytes{};
  std::memcpy(bytes.data(), &mask, sizeof mask);
  int prefix = 0;
  for (const unsigned char byte : bytes)
    prefix += std::popcount(byte);
  ::inet_ntop(family, &address, text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(prefix);
}

template <class Socket>
Socket copied(const sockaddr* from) {
  Socket to{};
  std::memcpy(&to, from, sizeof to);
  return to;
}

/// Returns the address of an interface as "10.0.0.7/24"; "" for other families and link-local
/// addresses.
std::string address_of(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || entry.ifa_netmask == nullptr) return "";
  const int family = entry.ifa_addr->sa_family;
  if (family == AF_INET)
    return written(family, copied<sockaddr_in>(entry.ifa_addr).sin_addr,
                   copied<sockaddr_in>(entry.ifa_netmask).sin_addr);
  if (family != AF_INET6) return "";
  const auto address = copied<sockaddr_in6>(entry.ifa_addr).sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return "";
  return written(family, address, copied<sockaddr_in6>(entry.ifa_netmask).sin6_addr);
}

/// An IPv4 address with the length of a mask.
struct Prefixed {
  std::uint32_t number = 0;
  int bits = 0;

  std::uint32_t network(int length) const {
    return length == 0 ? 0 : number & (~0U << static_cast<unsigned>(32 - length));
  }
};

/// Parses "10.0.0.7/24"; absent for anything else.
std::optional<Prefixed> parse_prefixed(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  in_addr address{};
  if (::inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1) return std::nullopt;
  Prefixed found{.number = ntohl(address.s_addr)};
  found.bits = to_number<int>(std::string_view(text).substr(slash + 1)).value_or(-1);
  if (found.bits < 0 || found.bits > 32) return std::nullopt;
  return found;
}

/// Returns the MTU of an interface; 0 if it is unknown.
int mtu_of(const std::string& interface, int socket) {
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return ::ioctl(socket, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

}  // namespace

std::vector<Interface> own_interfaces() {
  constexpr std::size_t kMost = 256;
  std::vector<Interface> interfaces;
  ifaddrs* entries = nullptr;
  if (::getifaddrs(&entries) != 0) return interfaces;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(entries, ::freeifaddrs);
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const ifaddrs* entry = entries; entry != nullptr; entry = entry->ifa_next) {
    const bool is_usable =
        (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    const std::string address = is_usable ? address_of(*entry) : "";
    if (!address.empty() && interfaces.size() < kMost)
      interfaces.push_back({.name = entry->ifa_name,
                            .address = address,
                            .mtu = mtu_of(entry->ifa_name, socket.get())});
  }
  return interfaces;
}

std::optional<std::string> interface_in(const std::string& network,
                                        std::span<const Interface> interfaces) {
  const auto wanted = parse_prefixed(network);
  if (!wanted) return std::nullopt;
  for (const Interface& own : interfaces) {
    const auto address = parse_prefixed(own.address);
    if (address && address->network(wanted->bits) == wanted->network(wanted->bits)) return own.name;
  }
  return std::nullopt;
}

}  // namespace fastgpu::agent
