// TCP ports that no process uses at this moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastgpu::agent {

/// Returns `count` different ports below the kernel's range for outgoing connections, so that none
/// of those can take one before its user does. Throws ErrorKind::capacity if many tries find too
/// few.
std::vector<std::uint16_t> find_free_ports(std::size_t count);

}  // namespace fastgpu::agent
