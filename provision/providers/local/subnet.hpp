// The private addresses of a cluster on this machine: one /24, chosen apart from all in use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fastgpu::provision::local {

/// An IPv4 address, first byte highest.
struct Ipv4 {
  std::uint32_t bits = 0;
  friend bool operator==(const Ipv4&, const Ipv4&) = default;
};

std::string to_string(Ipv4 address);

/// All addresses from `first` to `last`, both included.
struct AddressRange {
  Ipv4 first;
  Ipv4 last;

  bool meets(const AddressRange& other) const noexcept {
    return first.bits <= other.last.bits && other.first.bits <= last.bits;
  }
};

/// Returns the range of `address`/`prefix_length`; the host bits of `address` do not matter.
AddressRange range_of(Ipv4 address, int prefix_length) noexcept;

constexpr int kMostNodes = 240;  // .10 to .249 of a /24.

/// The /24 of one cluster.
struct Subnet {
  Ipv4 network;

  AddressRange range() const noexcept { return range_of(network, 24); }
  Ipv4 bridge() const noexcept { return {network.bits + 1}; }
  /// Returns the address of node `index`, 0 to kMostNodes - 1.
  Ipv4 node(int index) const noexcept {
    return {network.bits + 10 + static_cast<std::uint32_t>(index)};
  }
};

std::string to_string(Subnet subnet);  ///< Returns text such as "10.64.3.0/24".
/// Parses a subnet; absent if `text` is not one.
std::optional<Subnet> parse_subnet(std::string_view text);

/// Returns the first /24 of the private ranges that meets none of `taken`. Throws
/// ErrorKind::capacity if none is left.
Subnet choose_subnet(std::span<const AddressRange> taken);

/// Throws ErrorKind::usage unless `index` is a place in a local cluster.
void check_index(int index);

}  // namespace fastgpu::provision::local
