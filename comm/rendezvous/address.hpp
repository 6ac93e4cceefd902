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
  /// The number that this machine gives the interface of a link-local IPv6 address. It means
  /// nothing elsewhere, and does not travel.
  std::uint32_t zone = 0;

  bool is_loopback() const noexcept;
  bool is_link_local() const noexcept;  ///< An IPv6 address that needs a zone.
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace fastgpu::comm
