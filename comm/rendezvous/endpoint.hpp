// The sockets at both ends of a connection, and the machine's addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/rendezvous/address.hpp"

namespace fastgpu::comm {

/// Returns an address, or a name, with a port: "10.0.0.1:29500", "[::1]:29500", "node1:29500".
std::string host_and_port(const std::string& host, std::uint16_t port);

/// Returns "10.0.0.1:29500", "[::1]:29500", "[fe80::1%eth0]:29500".
std::string to_string(const Endpoint& endpoint);
/// Returns "10.0.0.1", "::1", "fe80::1%eth0".
std::string address_text(const Endpoint& endpoint);

/// Returns every address of `host`, in the resolver's order. Throws ErrorKind::not_found if it has
/// none.
std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port);

/// Returns the address of a network interface that reaches `nearby`: of its family, and link-local
/// if that is, where there is a choice. Its port is 0. Throws ErrorKind::usage if the interface or
/// its address is missing.
Endpoint address_of_interface(const std::string& interface, const Endpoint& nearby);

/// Returns why an interface carries nothing now, "is down: run `ip link set eth1 up`"; empty if it
/// does, and for one that is missing.
std::string trouble_of_interface(const std::string& interface);

/// Returns the zone of an interface. Throws ErrorKind::usage if it is missing.
std::uint32_t number_of_interface(const std::string& interface);
std::string name_of_interface(std::uint32_t number);  ///< Returns "eth0"; the number if unknown.

/// Returns the addresses of the interfaces that are up, apart from loopback, or of `interface`
/// alone if that is not empty: IPv4 addresses, else IPv6 ones. Throws ErrorKind::usage if there is
/// no address.
std::vector<Endpoint> addresses_of_machine(const std::string& interface);

/// An address of this machine, and the bits of it that its whole network has.
struct LocalAddress {
  Endpoint address{};
  int prefix = 0;  ///< 0: unknown.
};

/// Returns every address of this machine, of both families, also those that others do not reach.
std::vector<LocalAddress> all_addresses_of_machine();

Endpoint any_address(Family family);

Endpoint local_end(int socket);   ///< Returns the end of a connected or listening socket.
Endpoint remote_end(int socket);  ///< Returns the other end of a connected socket.

/// Returns a listening, non-blocking socket; port 0 takes a free one. Throws ErrorKind::conflict if
/// the port is in use, ErrorKind::local if the address is not of this machine.
UniqueFd listen_at(const Endpoint& endpoint);

/// A connected, non-blocking socket without Nagle's delay, or the error number of the attempt. The
/// connection is made from the address `source` if one is given.
struct PeerConnection {
  UniqueFd socket;
  int error = 0;
};
PeerConnection connect_to(const Endpoint& endpoint, const std::optional<Endpoint>& source,
                          Deadline deadline);

/// Turns Nagle's delay off: small messages are sent at once. A connection within a host gets the
/// congestion control "reno" where the system allows it: there is no network to be congested, and
/// BBR, the default of some systems, sends no faster than it has seen data arrive (1 MiB in 381
/// instead of 226 us).
void prepare_connection(int socket) noexcept;

}  // namespace fastgpu::comm
