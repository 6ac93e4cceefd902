// Ranges of IPv4 addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fastgpu::cloudsim {

struct Cidr {
  std::uint32_t first = 0;
  int bits = 0;

  bool holds(const Cidr& other) const noexcept;
  bool overlaps(const Cidr& other) const noexcept { return holds(other) || other.holds(*this); }
  std::uint32_t size() const noexcept { return 1U << (32 - bits); }  ///< Not valid for /0.
};

/// Parses "a.b.c.d/n" with n from `least` to `most`. Absent for anything else.
std::optional<Cidr> parse_cidr(const std::string& text, int least, int most);

std::uint32_t parse_address(const std::string& dotted);  ///< Returns 0 for a malformed address.
std::string dotted(std::uint32_t address);

}  // namespace fastgpu::cloudsim
