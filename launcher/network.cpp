#include "launcher/network.hpp"

#include <arpa/inet.h>

#include <array>
#include <bit>
#include <cstdint>

namespace fastgpu::launcher {
namespace {

std::optional<std::uint32_t> parse_ipv4(const std::string& text) {
  in_addr address{};
  if (::inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::string print(std::uint32_t network, int prefix) {
  const in_addr address{htonl(network)};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(prefix);
}

}  // namespace

std::optional<std::string> covering_network(std::span<const std::string> addresses) {
  std::uint32_t first = 0, differing = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto address = parse_ipv4(addresses[i]);
    if (!address) return std::nullopt;
    if (i == 0) first = *address;
    differing |= first ^ *address;
  }
  const int prefix = std::countl_zero(differing);
  if (differing == 0 || prefix < 8) return std::nullopt;
  const std::uint32_t hosts = ~0U >> prefix;
  return print(first & ~hosts, prefix);
}

}  // namespace fastgpu::launcher
