// IP addresses and ranges from user input: checked once, and printed in one form.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu {

/// An IPv4 or IPv6 address. Its text has only digits, letters, dots and colons, so that it is safe
/// in any configuration file.
class IpAddress {
 public:
  /// Parses "192.0.2.7", "2001:db8::7". Throws ErrorKind::usage with the value met.
  static IpAddress parse(std::string_view text);

  bool is_v6() const noexcept { return is_v6_; }
  std::string text() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  friend class IpRange;
  bool is_v6_ = false;
  std::array<std::uint8_t, 16> bytes_{};  ///< An IPv4 address uses the first four bytes.
};

/// A range: all addresses that begin with the same bits.
class IpRange {
 public:
  /// Parses "192.0.2.0/24", "2001:db8::/32", or a single address, which is a range of one address.
  /// Throws ErrorKind::usage with the value met. Bits after the prefix must be 0; otherwise the
  /// message suggests the range that was probably meant.
  static IpRange parse(std::string_view text);

  bool is_v6() const noexcept { return first_.is_v6(); }
  int prefix() const noexcept { return prefix_; }
  /// Returns true if the range has a large part of the world: IPv4 with a prefix under 8, or IPv6
  /// under 16.
  bool is_world() const noexcept { return prefix_ < (is_v6() ? 16 : 8); }
  std::string text() const;  ///< "192.0.2.0/24"

  friend auto operator<=>(const IpRange&, const IpRange&) = default;

 private:
  IpAddress first_;
  int prefix_ = 0;
};

}  // namespace fastgpu
