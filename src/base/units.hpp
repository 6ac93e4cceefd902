// Sizes, durations and bit rates as users write them. A plain number never has an implied unit.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu {

/// A number of bytes.
struct Bytes {
  std::uint64_t count = 0;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

/// A link speed.
struct BitRate {
  std::uint64_t bits_per_second = 0;
  friend auto operator<=>(const BitRate&, const BitRate&) = default;
};

/// Parses "250ms", "30s", "10 min", "1h30m", "1 week" and every output of to_string(). Only "0"
/// needs no unit. Throws ErrorKind::usage for anything else, including negative values and more
/// than 100 years.
std::chrono::milliseconds parse_duration(std::string_view text);

/// Parses "256MB" (10^6), "256MiB" (2^20), "1.5 GB" or a number of bytes. Throws ErrorKind::usage.
Bytes parse_size(std::string_view text);

/// Parses "1gbit", "300mbit", "10gbps", "64kbit". Throws ErrorKind::usage, also for zero.
BitRate parse_bit_rate(std::string_view text);

/// Returns the duration in its largest whole unit: "3601s", where to_string() rounds to "1h".
std::string to_exact_string(std::chrono::milliseconds duration);
std::string to_string(std::chrono::milliseconds duration);  ///< "250ms", "1.5s", "3m20s", "2h05m"
std::string to_string(Bytes size);                          ///< "1.5 GB", in powers of ten.
std::string to_string(BitRate rate);  ///< "1gbit", which parse_bit_rate() accepts.

}  // namespace fastgpu
