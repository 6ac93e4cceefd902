#include "comm/transports/tcp_socket.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdint>

namespace fastgpu::comm {
namespace {

/// A connection is silent if the peer's host has acknowledged nothing for this long, while TCP
/// sends the same again, or asks for room (which it does after 200 ms at the earliest).
constexpr std::uint32_t kSilenceMs = 250;  // As TcpFlow::silence has it.

/// Returns TCP's counters of a connection; zeros for a socket of another kind.
tcp_info counters_of(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof(info);
  const bool is_tcp = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
  return is_tcp ? info : tcp_info{};
}

bool repeats_itself(const tcp_info& info) noexcept {
  return info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
}

}  // namespace

std::string local_address(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  char text[INET6_ADDRSTRLEN] = "an unknown address";
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return text;
  if (storage.ss_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text,
                sizeof(text));
  if (storage.ss_family != AF_INET6) return text;
  const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
  ::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
  char zone[IF_NAMESIZE] = "";
  const bool has_zone =
      address.sin6_scope_id != 0 && ::if_indextoname(address.sin6_scope_id, zone) != nullptr;
  return has_zone ? std::string(text) + "%" + zone : text;
}

bool is_within_host(int socket) noexcept {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t length = sizeof(here);
  socklen_t other_length = sizeof(there);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &length) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &other_length) != 0 ||
      here.ss_family != there.ss_family)
    return false;  // One that has ended goes nowhere, as its use will show.
  if (here.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(here).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(there).sin_addr.s_addr;
  return here.ss_family == AF_INET6 &&
         IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6&>(here).sin6_addr,
                            &reinterpret_cast<const sockaddr_in6&>(there).sin6_addr);
}

bool is_on_its_way(int socket) {
  int domain = 0;
  socklen_t length = sizeof(domain);
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length);
  int bytes = 0;
  if (domain == AF_UNIX || ::ioctl(socket, SIOCOUTQ, &bytes) != 0 || bytes == 0) return false;
  pollfd end{socket, 0, 0};
  const bool is_reset = ::poll(&end, 1, 0) > 0;
  return !is_reset;
}

std::optional<std::size_t> bytes_on_their_way(int socket) noexcept {
  int bytes = 0;
  if (::ioctl(socket, SIOCOUTQ, &bytes) != 0) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

bool is_unacknowledged(int socket) noexcept {
  return repeats_itself(counters_of(socket));
}

bool is_silent(int socket) noexcept {
  const tcp_info info = counters_of(socket);
  return repeats_itself(info) && info.tcpi_last_ack_recv >= kSilenceMs;
}

}  // namespace fastgpu::comm
