#include "cloudsim/world/cidr.hpp"

#include <arpa/inet.h>

#include <charconv>

#include "base/join.hpp"

namespace fastgpu::cloudsim {

bool Cidr::holds(const Cidr& other) const noexcept {
  return other.bits >= bits && (bits == 0 || (other.first ^ first) >> (32 - bits) == 0);
}

std::optional<Cidr> parse_cidr(const std::string& text, int least, int most) {
  const std::size_t slash = text.find('/');
  in_addr address{};
  if (slash == std::string::npos ||
      inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1)
    return std::nullopt;
  Cidr out{ntohl(address.s_addr), -1};
  const char* end = text.data() + text.size();
  const bool whole = std::from_chars(text.data() + slash + 1, end, out.bits).ptr == end;
  if (!whole || out.bits < least || out.bits > most) return std::nullopt;
  return out;
}

std::uint32_t parse_address(const std::string& dotted) {
  in_addr address{};
  return inet_pton(AF_INET, dotted.c_str(), &address) == 1 ? ntohl(address.s_addr) : 0;
}

std::string dotted(std::uint32_t address) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    append_item(out, std::to_string(address >> shift & 255), ".");
  return out;
}

}  // namespace fastgpu::cloudsim
