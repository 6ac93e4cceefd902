// The sockets at both ends of a connection, and what is known of addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/rendezvous/address.hpp"
#include "comm/rendezvous/deadline.hpp"

namespace fastgpu::comm {

std::string to_string(const Endpoint& endpoint);  ///< "10.0.0.1:29500", "[::1]:29500"

/// Every address of `host`, in the resolver's order. Throws ErrorKind::not_found where it has none.
std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port);

/// The first address of a network interface in `family`. Throws ErrorKind::usage where there is no
/// such interface or it has none.
Endpoint address_of_interface(const std::string& interface, Family family);

/// Of the interfaces that are up, apart from loopback, or of `interface` alone where that is not
/// empty: IPv4 addresses, else IPv6 ones. Throws ErrorKind::usage where there is none.
std::vector<Endpoint> addresses_of_machine(const std::string& interface);

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
