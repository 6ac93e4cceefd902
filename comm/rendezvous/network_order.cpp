#include "comm/rendezvous/network_order.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

bool is_in(const Endpoint& address, const LocalAddress& network) {
  if (network.prefix == 0 || address.family != network.address.family) return false;
  for (int bit = 0; bit < network.prefix; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const std::byte mask = std::byte{0x80} >> bit % 8;
    if ((address.address.at(byte) & mask) != (network.address.address.at(byte) & mask))
      return false;
  }
  return true;
}

}  // namespace

void check_order_of_networks(Rank rank, std::span<const LocalAddress> mine,
                             std::span<const Endpoint> theirs) {
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    if (is_in(theirs[i], mine[i])) continue;
    const auto other =
        std::ranges::find_if(mine, [&](const auto& each) { return is_in(theirs[i], each); });
    if (other == mine.end()) continue;
    throw Error(ErrorKind::usage,
                name_of(rank) +
                    " has another order of networks in FASTGPU_COMM_INTERFACE: its number " +
                    std::to_string(i + 1) + ", " + address_text(theirs[i]) +
                    ", is in the network of number " + std::to_string(other - mine.begin() + 1) +
                    " here, " + address_text(other->address) + "/" + std::to_string(other->prefix) +
                    ": all ranks need the same order");
  }
}

std::vector<LocalAddress> local_addresses(std::span<const Endpoint> ends,
                                          std::span<const LocalAddress> of_machine) {
  std::vector<LocalAddress> found;
  for (const Endpoint& end : ends) {
    const auto known = std::ranges::find_if(of_machine, [&](const LocalAddress& each) {
      return each.address.family == end.family && each.address.address == end.address;
    });
    found.push_back({end, known == of_machine.end() ? 0 : known->prefix});
  }
  return found;
}

}  // namespace fastgpu::comm
