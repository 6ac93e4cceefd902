#include "comm/rendezvous/endpoint.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

constexpr int kBacklog = 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const Endpoint& endpoint) {
  SocketAddress result;
  if (endpoint.family == Family::ipv4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    std::memcpy(&address.sin_addr, endpoint.address.data(), sizeof(address.sin_addr));
    std::memcpy(&result.storage, &address, sizeof(address));
    result.length = sizeof(address);
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(endpoint.port);
    address.sin6_scope_id = endpoint.zone;
    std::memcpy(&address.sin6_addr, endpoint.address.data(), sizeof(address.sin6_addr));
    std::memcpy(&result.storage, &address, sizeof(address));
    result.length = sizeof(address);
  }
  return result;
}

/// Absent for a family that is not of the internet. `address` points to a whole sockaddr of its
/// family. An IPv4 address in IPv6's clothes becomes an IPv4 address.
std::optional<Endpoint> to_endpoint(const sockaddr* address) {
  Endpoint result;
  if (address->sa_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, address, sizeof(ipv4));
    std::memcpy(result.address.data(), &ipv4.sin_addr, sizeof(ipv4.sin_addr));
    result.port = ntohs(ipv4.sin_port);
    return result;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 ipv6{};
  std::memcpy(&ipv6, address, sizeof(ipv6));
  result.port = ntohs(ipv6.sin6_port);
  const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr);
  if (is_mapped) {
    std::memcpy(result.address.data(), ipv6.sin6_addr.s6_addr + 12, 4);
  } else {
    result.family = Family::ipv6;
    std::memcpy(result.address.data(), &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
    if (result.is_link_local()) result.zone = ipv6.sin6_scope_id;
  }
  return result;
}

/// Returns the number of bits that are set in a mask; 0 without one.
int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const auto endpoint = to_endpoint(mask);
  if (!endpoint) return 0;
  int bits = 0;
  for (const std::byte byte : endpoint->address)
    bits += std::popcount(std::to_integer<unsigned>(byte));
  return bits;
}

bool is_ipv4(const Endpoint& endpoint) {
  return endpoint.family == Family::ipv4;
}

int domain(Family family) {
  return family == Family::ipv4 ? AF_INET : AF_INET6;
}

UniqueFd open_socket(Family family) {
  UniqueFd socket(::socket(domain(family), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw system_error("opening a TCP socket", errno);
  return socket;
}

void set_option(int socket, int level, int option, int value) noexcept {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

using NameFunction = int (*)(int, sockaddr*, socklen_t*);

Endpoint end_of(int socket, NameFunction name) {
  SocketAddress address;
  if (name(socket, address.get(), &address.length) != 0)
    throw system_error("reading a connection's address", errno);
  if (const auto endpoint = to_endpoint(address.get())) return *endpoint;
  throw Error(ErrorKind::local, "a connection has no internet address");
}

/// The error number that a non-blocking connect ends with, 0 for success.
int wait_until_connected(int socket, Deadline deadline) {
  pollfd end{socket, POLLOUT, 0};
  const int ready = poll_until({&end, 1}, deadline);
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

/// Returns the error of a new connection; 0 if it is good. A port of the ephemeral range at which
/// no program listens can be given to the very socket that tries to reach it; TCP then connects it
/// to itself.
int error_of_new_connection(int socket) {
  try {
    return local_end(socket) == remote_end(socket) ? ECONNREFUSED : 0;
  } catch (const Error&) {
    return ECONNRESET;  // The other side has hung up already.
  }
}

}  // namespace

bool Endpoint::is_loopback() const noexcept {
  if (family == Family::ipv4) return address[0] == std::byte{127};
  std::array<std::byte, 16> loopback{};
  loopback[15] = std::byte{1};
  return address == loopback;
}

bool Endpoint::is_link_local() const noexcept {
  return family == Family::ipv6 && address[0] == std::byte{0xfe} &&
         (address[1] & std::byte{0xc0}) == std::byte{0x80};
}

std::string address_text(const Endpoint& endpoint) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(domain(endpoint.family), endpoint.address.data(), text, sizeof(text));
  std::string host = text;
  if (endpoint.zone != 0) host += '%' + name_of_interface(endpoint.zone);
  return host;
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool has_colons = host.find(':') != std::string::npos;
  return (has_colons ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

std::string to_string(const Endpoint& endpoint) {
  return host_and_port(address_text(endpoint), endpoint.port);
}

std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const CHandle<addrinfo, ::freeaddrinfo> owner(list);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next)
    if (const auto endpoint = to_endpoint(one->ai_addr)) endpoints.push_back(*endpoint);
  if (!endpoints.empty()) return endpoints;
  const std::string doing = "the address of rank 0, '" + printable(host) + "'";
  if (status == EAI_SYSTEM) throw system_error(doing, errno);
  const std::string why = status == 0 ? "it has no internet address" : ::gai_strerror(status);
  const bool is_unknown = status == 0 || status == EAI_NONAME || status == EAI_NODATA;
  throw Error(is_unknown ? ErrorKind::not_found : ErrorKind::local, doing + ": " + why);
}

std::uint32_t number_of_interface(const std::string& interface) {
  const std::uint32_t number = ::if_nametoindex(interface.c_str());
  if (number != 0) return number;
  throw Error(ErrorKind::usage, "FASTGPU_COMM_INTERFACE names '" + printable(interface) +
                                    "', but this machine has no such interface");
}

std::string name_of_interface(std::uint32_t number) {
  char name[IF_NAMESIZE] = "";
  return ::if_indextoname(number, name) != nullptr ? printable(name) : std::to_string(number);
}

std::string trouble_of_interface(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("listing the network interfaces", errno);
  const CHandle<ifaddrs, ::freeifaddrs> owner(list);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (interface != one->ifa_name) continue;
    if ((one->ifa_flags & IFF_UP) == 0)
      return "is down: run `ip link set " + printable(interface) + " up`";
    if ((one->ifa_flags & IFF_RUNNING) == 0)
      return "has no carrier: check its cable, or the other end";
    return {};
  }
  return {};
}

Endpoint address_of_interface(const std::string& interface, const Endpoint& nearby) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("listing the network interfaces", errno);
  const CHandle<ifaddrs, ::freeifaddrs> owner(list);
  std::optional<Endpoint> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || interface != one->ifa_name) continue;
    const auto endpoint = to_endpoint(one->ifa_addr);
    if (!endpoint || endpoint->family != nearby.family) continue;
    // A link-local address reaches no other kind, and the reverse.
    if (endpoint->is_link_local() == nearby.is_link_local()) return *endpoint;
    if (!found) found = endpoint;
  }
  if (found) return *found;
  const std::string kind = nearby.family == Family::ipv4 ? "IPv4" : "IPv6";
  throw Error(ErrorKind::usage, "FASTGPU_COMM_INTERFACE names '" + printable(interface) +
                                    "', but this machine has no such interface with an " + kind +
                                    " address: rank 0's address is " + kind +
                                    ", and each interface needs one");
}

std::vector<Endpoint> addresses_of_machine(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("listing the network interfaces", errno);
  const CHandle<ifaddrs, ::freeifaddrs> owner(list);
  std::vector<Endpoint> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_RUNNING) != 0;
    const bool is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    const bool is_wanted = interface.empty() ? is_up && !is_loopback : interface == one->ifa_name;
    if (!is_wanted || one->ifa_addr == nullptr) continue;
    const auto endpoint = to_endpoint(one->ifa_addr);
    if (endpoint && !endpoint->is_link_local()) found.push_back(*endpoint);
  }
  if (found.empty())
    throw Error(ErrorKind::usage, interface.empty()
                                      ? "this machine has no address that others reach"
                                      : "FASTGPU_COMM_INTERFACE names '" + printable(interface) +
                                            "', but this machine has no such interface with an "
                                            "address");
  const bool has_ipv4 = std::ranges::any_of(found, is_ipv4);
  if (has_ipv4) std::erase_if(found, std::not_fn(is_ipv4));
  return found;
}

std::vector<LocalAddress> all_addresses_of_machine() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("listing the network interfaces", errno);
  const CHandle<ifaddrs, ::freeifaddrs> owner(list);
  std::vector<LocalAddress> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    if (const auto endpoint = to_endpoint(one->ifa_addr))
      found.push_back({*endpoint, prefix_of(one->ifa_netmask)});
  }
  return found;
}

Endpoint any_address(Family family) {
  return {.family = family};
}

Endpoint local_end(int socket) {
  return end_of(socket, [](int s, sockaddr* a, socklen_t* l) { return ::getsockname(s, a, l); });
}

Endpoint remote_end(int socket) {
  return end_of(socket, [](int s, sockaddr* a, socklen_t* l) { return ::getpeername(s, a, l); });
}

UniqueFd listen_at(const Endpoint& endpoint) {
  UniqueFd socket = open_socket(endpoint.family);
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (endpoint.family == Family::ipv6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  SocketAddress address = to_socket_address(endpoint);
  const std::string doing = "listening at " + to_string(endpoint);
  if (::bind(socket.get(), address.get(), address.length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) throw Error(ErrorKind::conflict, doing + ": the port is in use");
    throw system_error(doing, errno);
  }
  return socket;
}

PeerConnection connect_to(const Endpoint& endpoint, const std::optional<Endpoint>& source,
                          Deadline deadline) {
  UniqueFd socket = open_socket(endpoint.family);
  if (source) {
    SocketAddress address = to_socket_address(*source);
    if (::bind(socket.get(), address.get(), address.length) != 0) return {UniqueFd(), errno};
  }
  SocketAddress address = to_socket_address(endpoint);
  int error = ::connect(socket.get(), address.get(), address.length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = wait_until_connected(socket.get(), deadline);
  if (error == 0) error = error_of_new_connection(socket.get());
  if (error != 0) return {UniqueFd(), error};
  prepare_connection(socket.get());
  return {std::move(socket), 0};
}

void prepare_connection(int socket) noexcept {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  constexpr std::string_view kReno = "reno";
  if (is_within_host(socket))
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

}  // namespace fastgpu::comm
