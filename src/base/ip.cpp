#include "base/ip.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu {
namespace {

constexpr std::size_t kLongest = INET6_ADDRSTRLEN + 4;  // The longest text, with "/128".

[[noreturn]] void refuse_address(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "'" + printable(text) + "' " + why);
}

/// Clears the bits after the prefix.
std::array<std::uint8_t, 16> masked(std::array<std::uint8_t, 16> bytes, int prefix) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(i) * 8, 0, 8);
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & ~(0xFFU >> static_cast<unsigned>(kept)));
  }
  return bytes;
}

/// Returns the number after the slash; -1 if it is malformed.
int prefix_in(std::string_view digits) {
  const auto prefix = to_number<int>(digits);
  if (!prefix || digits.front() == '-') return -1;
  const bool is_plain = digits.size() == 1 || digits.front() != '0';
  return is_plain ? *prefix : -1;
}

}  // namespace

IpAddress IpAddress::parse(std::string_view text) {
  IpAddress address;
  const std::string copy(text.substr(0, kLongest));
  if (copy.size() == text.size() && copy.find('\0') == std::string::npos) {
    if (::inet_pton(AF_INET, copy.c_str(), address.bytes_.data()) == 1) return address;
    address.is_v6_ = true;
    if (::inet_pton(AF_INET6, copy.c_str(), address.bytes_.data()) == 1) return address;
  }
  refuse_address(text, "is not an IP address");
}

std::string IpAddress::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(is_v6_ ? AF_INET6 : AF_INET, bytes_.data(), text, sizeof text);
  return text;
}

IpRange IpRange::parse(std::string_view text) {
  constexpr const char* kWrite = "is not a range of addresses: write 192.0.2.7/32 or 192.0.2.0/24";
  const std::size_t slash = text.find('/');
  IpRange range;
  try {
    range.first_ = IpAddress::parse(text.substr(0, slash));
  } catch (const Error&) {
    refuse_address(text, kWrite);
  }
  const int most = range.is_v6() ? 128 : 32;
  range.prefix_ = most;
  if (slash == std::string_view::npos) return range;
  const std::string_view digits = text.substr(slash + 1);
  range.prefix_ = digits.empty() ? -1 : prefix_in(digits);
  if (range.prefix_ < 0 || range.prefix_ > most) refuse_address(text, kWrite);
  const auto bytes = masked(range.first_.bytes_, range.prefix_);
  const bool has_host_bits = bytes != range.first_.bytes_;
  range.first_.bytes_ = bytes;
  if (has_host_bits)
    refuse_address(text, "has bits set behind its prefix: did you mean " + range.text() + "?");
  return range;
}

std::string IpRange::text() const {
  return first_.text() + "/" + std::to_string(prefix_);
}

}  // namespace fastgpu
