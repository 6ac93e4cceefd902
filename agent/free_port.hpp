// A TCP port that nobody uses at this moment.
#pragma once

#include <cstdint>

namespace fastgpu::agent {

/// Below the range from which the kernel takes ports for outgoing connections, so that none of
/// those can take it before its user does. Throws ErrorKind::capacity where none of many tries is
/// free.
std::uint16_t find_free_port();

}  // namespace fastgpu::agent
