#include "provision/providers/local/subnet.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/counted.hpp"
#include "base/error.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::uint32_t kSubnetSize = 256;

constexpr Ipv4 ipv4(std::uint32_t a, std::uint32_t b) {
  return {a << 24U | b << 16U};
}

struct Pool {
  Ipv4 network;
  int prefix_length;
};

// The first pool is the one that other tools use least; the others serve if a private network
// claims all of 10.0.0.0/8.
constexpr std::array kPools = {Pool{ipv4(10, 64), 10}, Pool{ipv4(100, 64), 10},
                               Pool{ipv4(172, 16), 12}, Pool{ipv4(192, 168), 16},
                               Pool{ipv4(198, 18), 15}};

}  // namespace

std::string to_string(Ipv4 address) {
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text += std::to_string(address.bits >> shift & 255U);
    if (shift != 0) text += '.';
  }
  return text;
}

AddressRange range_of(Ipv4 address, int prefix_length) noexcept {
  const std::uint32_t host_bits =
      prefix_length <= 0 ? ~0U : (prefix_length >= 32 ? 0U : ~0U >> prefix_length);
  return {{address.bits & ~host_bits}, {address.bits | host_bits}};
}

std::string to_string(Subnet subnet) {
  return to_string(subnet.network) + "/24";
}

std::optional<Subnet> parse_subnet(std::string_view text) {
  if (!text.ends_with("/24")) return std::nullopt;
  in_addr parsed{};
  const std::string address(text.substr(0, text.size() - 3));
  if (inet_pton(AF_INET, address.c_str(), &parsed) != 1) return std::nullopt;
  const Subnet subnet{{ntohl(parsed.s_addr)}};
  if (subnet.network.bits % kSubnetSize != 0) return std::nullopt;
  return subnet;
}

Subnet choose_subnet(std::span<const AddressRange> taken) {
  for (const Pool& pool : kPools) {
    const AddressRange all = range_of(pool.network, pool.prefix_length);
    Subnet candidate{all.first};
    while (candidate.range().last.bits <= all.last.bits) {
      const auto hit = std::ranges::find_if(
          taken, [&](const AddressRange& range) { return range.meets(candidate.range()); });
      if (hit == taken.end()) return candidate;
      // Behind the range in the way, at the next multiple of 256.
      candidate.network.bits = (hit->last.bits & ~(kSubnetSize - 1)) + kSubnetSize;
      if (candidate.network.bits <= hit->first.bits)
        break;  // The range reaches the very last address.
    }
  }
  throw Error(ErrorKind::capacity,
              "no private address range is free for the cluster: all of 10.64.0.0/10, "
              "100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16 and 198.18.0.0/15 are in use here");
}

void check_index(int index) {
  if (index >= 0 && index < kMostNodes) return;
  throw Error(ErrorKind::usage, "a local cluster has at most " + counted(kMostNodes, "node") +
                                    " (index " + std::to_string(index) + " was requested)");
}

}  // namespace fastgpu::provision::local
