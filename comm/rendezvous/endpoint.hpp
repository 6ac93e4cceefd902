// Internet addresses with a port, and the sockets at both ends of a connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/rendezvous/deadline.hpp"

namespace fastgpu::comm {

enum class Family : std::uint8_t { ipv4 = 4, ipv6 = 6 };

struct Endpoint {
  Family family = Family::ipv4;
  std::array<std::byte, 16> address{};  ///< An IPv4 address has the first four, the rest is 0.
  std::uint16_t port = 0;

  bool is_loopback() const noexcept;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

std::string to_string(const Endpoint& endpoint);  ///< "10.0.0.1:29500", "[::1]:29500"

/// Every address of `host`, in the resolver's order. Throws ErrorKind::not_found where it has none.
std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port);

/// The first address of a network interface in `family`. Throws ErrorKind::usage where there is no
/// such interface or it has none.
Endpoint address_of_interface(const std::string& interface, Family family);

Endpoint any_address(Family family);

Endpoint local_end(int socket);   ///< Of a connected or listening socket.
Endpoint remote_end(int socket);  ///< Of a connected socket.

/// A listening, non-blocking socket; port 0 takes a free one. Throws ErrorKind::conflict where the
/// port is in use, ErrorKind::local where the address is not of this machine.
UniqueFd listen_at(const Endpoint& endpoint);

/// A connected, non-blocking socket without Nagle's delay, or the error number of the attempt.
/// Connects from the address `source` where one is given.
struct Connection {
  UniqueFd socket;
  int error = 0;
};
Connection connect_to(const Endpoint& endpoint, const std::optional<Endpoint>& source,
                      Deadline deadline);

/// Small messages are sent at once.
void disable_delay(int socket) noexcept;

}  // namespace fastgpu::comm
