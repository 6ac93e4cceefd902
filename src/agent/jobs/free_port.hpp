// Finds TCP ports that no process uses at the moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastgpu::agent {

/// Returns `count` ports below the kernel's range for outgoing connections, so that none of these
/// takes a port before its user does. They are 512 or more from each other. Throws
/// ErrorKind::capacity if many attempts find too few ports.
std::vector<std::uint16_t> find_free_ports(std::size_t count);

/// Returns true if a program on this node could listen at the port now.
bool is_free_port(std::uint16_t port);

}  // namespace fastgpu::agent
