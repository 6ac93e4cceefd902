#include "launcher/network.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <set>

#include "base/contains.hpp"

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

/// An address of an interface. `number` is that of an IPv4 one.
struct Own {
  std::string text;
  std::optional<std::uint32_t> number{};
  int prefix = 0;

  std::uint32_t network(int bits) const { return bits == 0 ? 0 : *number & (~0U << (32 - bits)); }
};

Own parse_own(const std::string& written) {
  const std::size_t slash = std::min(written.find('/'), written.size());
  Own own{.text = written.substr(0, slash)};
  own.number = parse_ipv4(own.text);
  if (slash < written.size())
    std::from_chars(written.data() + slash + 1, written.data() + written.size(), own.prefix);
  if (own.prefix < 0 || own.prefix > 32) own.number.reset();
  return own;
}

struct Node {
  const NodeAddresses* said;
  std::vector<Own> own;

  bool has(const std::string& address) const { return contains(own, address, &Own::text); }
  /// Whether the address is one by which we know the node.
  bool is_known_by(const std::string& address) const {
    return address == said->known_as || address == said->ssh_address;
  }
};

using Addresses = std::vector<std::string>;

bool differ(const Addresses& addresses) {
  return std::set(addresses.begin(), addresses.end()).size() == addresses.size();
}

/// Returns the addresses by which the nodes are known, or at which we came in, if each is the
/// node's own.
template <class Pick>
Addresses all_own(std::span<const Node> nodes, Pick pick) {
  Addresses addresses;
  for (const Node& node : nodes) {
    const std::string& address = pick(*node.said);
    if (!node.has(address)) return {};
    addresses.push_back(address);
  }
  return differ(addresses) ? addresses : Addresses();
}

/// Returns the nodes' addresses in the subnet of `first`, and by how many of them they are known.
std::pair<Addresses, int> in_subnet(const Own& first, std::span<const Node> nodes) {
  Addresses addresses;
  int known = 0;
  for (const Node& node : nodes) {
    const auto found = std::ranges::find_if(node.own, [&](const Own& own) {
      return own.number && own.prefix == first.prefix &&
             own.network(first.prefix) == first.network(first.prefix);
    });
    if (found == node.own.end()) return {};
    addresses.push_back(found->text);
    known += node.is_known_by(found->text) ? 1 : 0;
  }
  return differ(addresses) ? std::pair(addresses, known) : std::pair(Addresses(), 0);
}

Addresses in_shared_subnet(std::span<const Node> nodes) {
  Addresses best;
  int most = -1;
  bool is_one = false;
  for (const Own& first : nodes.front().own) {
    if (!first.number || first.prefix == 32) continue;
    const auto [addresses, known] = in_subnet(first, nodes);
    if (addresses.empty() || known < most || addresses == best) continue;
    is_one = known > most;
    most = known;
    best = addresses;
  }
  return is_one ? best : Addresses();
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

std::vector<std::string> joining_addresses(std::span<const NodeAddresses> all) {
  std::vector<Node> nodes;
  for (const NodeAddresses& said : all) {
    Node node{.said = &said, .own = {}};
    for (const std::string& written : said.own)
      node.own.push_back(parse_own(written));
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) return {};
  Addresses found =
      all_own(nodes, [](const NodeAddresses& said) -> const std::string& { return said.known_as; });
  if (found.empty()) found = in_shared_subnet(nodes);
  if (found.empty())
    found = all_own(
        nodes, [](const NodeAddresses& said) -> const std::string& { return said.ssh_address; });
  return found;
}

}  // namespace fastgpu::launcher
