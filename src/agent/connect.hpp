// Connections to other hosts, begun to see whether they come about.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Returns the addresses of a host, each once; none if its name cannot be resolved. Runs getent,
/// because this static program cannot use the C library's look-up. Throws ErrorKind::timeout.
std::vector<std::string> addresses_of(const std::string& host, std::chrono::milliseconds timeout);

/// Parses a numeric address. The family is AF_UNSPEC for malformed text.
sockaddr_storage parse_address(const std::string& address, std::uint16_t port);

struct ConnectAttempt {
  UniqueFd socket{};
  int failure = 0;  ///< EINPROGRESS until poll() reports the socket writable; otherwise an errno.
};

/// Begins a TCP connection to a numeric address.
ConnectAttempt begin_connection(const std::string& address, std::uint16_t port);

/// Returns 0 or the errno of a connection that is not in progress any more.
int result_of_connection(int socket);

/// Returns a listener for IPv4 and IPv6, or for IPv4 alone on a node without IPv6; none if the port
/// is taken.
UniqueFd listen_on(std::uint16_t port);

}  // namespace fastgpu::agent
