// An internet address with a port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fastgpu::comm {

enum class Family : std::uint8_t { ipv4 = 4, ipv6 = 6 };

struct Endpoint {
  Family family = Family::ipv4;
  /// The address; an IPv4 address has the first four bytes, the rest is 0.
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;

  bool is_loopback() const noexcept;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace fastgpu::comm
