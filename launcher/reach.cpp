#include "launcher/reach.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "agent/protocol/records.hpp"
#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "launcher/network.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::size_t kMostPeers = 32;

std::string ssh_target(const Peer& peer) {
  const bool is_v6 = peer.address.find(':') != peer.address.npos;
  return (is_v6 ? "[" + peer.address + "]" : peer.address) + ":" + std::to_string(peer.port);
}

/// Returns whether a node is reached at an address of another machine, as behind a router. Only
/// then is its sshd tried: some ban addresses that connect and do not log in.
bool is_behind(const Peer& peer, const agent::JobNodeFacts& facts) {
  in6_addr ignored{};
  const bool is_address = ::inet_pton(AF_INET, peer.address.c_str(), &ignored) == 1 ||
                          ::inet_pton(AF_INET6, peer.address.c_str(), &ignored) == 1;
  return is_address && std::ranges::none_of(facts.addresses, [&](const std::string& own) {
           return own.substr(0, own.find('/')) == peer.address;
         });
}

/// Returns the places of the nodes that the one at `place` asks.
std::vector<std::size_t> asked_by(std::size_t place, std::size_t nodes) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 1; i < nodes && i <= kMostPeers; ++i)
    asked.push_back((place + i) % nodes);
  if (place != 0 && !contains(asked, std::size_t{0})) asked.back() = 0;
  return asked;
}

/// Returns the MTU of the interface that has an address of a node; 0 if it is unknown.
int mtu_of(const std::string& address, const agent::JobNodeFacts& facts) {
  for (std::size_t i = 0; i < std::min(facts.addresses.size(), facts.mtus.size()); ++i)
    if (facts.addresses[i].substr(0, facts.addresses[i].find('/')) == address) return facts.mtus[i];
  return 0;
}

constexpr const char* kSizeAdvice =
    " are lost on the way, and smaller ones arrive: connections would hang; give all interfaces, "
    "tunnels and switches between the nodes one MTU, and let ICMP pass "
    "(FASTGPU_NETWORK_CHECK=false "
    "starts the job without this check)";
constexpr const char* kAdvice =
    "; ranks need every port between the nodes: check their firewalls (FASTGPU_NETWORK_CHECK=false "
    "starts the job without this check)";
constexpr const char* kSshAdvice =
    "; the nodes start ranks on each other over SSH: check the firewall there; if the others reach "
    "a host at another address, set its `inner` in the cluster file";

/// Returns a sentence on the first two nodes between which large packets get lost; empty if there
/// are none.
std::string lost_packets(const JobFilesRequest& request, std::span<const std::string> addresses,
                         std::span<const ReachAnswer> answers) {
  const auto name = [&](std::size_t place) { return request.nodes[place].ranks.node.value; };
  for (const ReachAnswer& answer : answers) {
    const agent::Records records(answer.text, "reach-nodes");
    for (const std::string& line : records.all("loses")) {
      const std::size_t space = std::min(line.find(' '), line.size());
      const auto place = std::ranges::find(addresses, line.substr(0, space));
      if (place == addresses.end()) continue;
      const auto other = static_cast<std::size_t>(place - addresses.begin());
      return "packets of " + printable(line.substr(std::min(space + 1, line.size())), 20) +
             " bytes from " + name(answer.place) + " to " + name(other) + " at " + *place +
             kSizeAdvice;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> joining_addresses(const JobFilesRequest& request,
                                           std::span<const agent::JobNodeFacts> facts) {
  std::vector<NodeAddresses> nodes;
  for (std::size_t i = 0; i < facts.size(); ++i)
    nodes.push_back({.known_as = request.nodes[i].peer.address,
                     .own = facts[i].addresses,
                     .ssh_address = facts[i].ssh_address});
  return joining_addresses(nodes);
}

std::vector<std::string> reach_words(const JobFilesRequest& request,
                                     std::span<const agent::JobNodeFacts> facts,
                                     std::size_t place) {
  const std::size_t nodes = request.nodes.size();
  const auto addresses = joining_addresses(request, facts);
  std::vector<std::string> words;
  const auto asked = asked_by(place, nodes);
  if (place == 0)
    for (const std::size_t other : asked)
      if (is_behind(request.nodes[other].peer, facts[other]))
        words.insert(words.end(), {"--ssh", ssh_target(request.nodes[other].peer)});
  if (addresses.empty() || asked.empty()) return words;
  words.emplace_back("--");
  for (const std::size_t other : asked) {
    const int mtu = mtu_of(addresses[other], facts[other]);
    words.push_back(addresses[other] + (mtu > 0 ? "," + std::to_string(mtu) : ""));
  }
  return words;
}

std::vector<ReachRequest> reach_requests(const JobFilesRequest& request,
                                         std::span<const agent::JobNodeFacts> facts) {
  std::vector<ReachRequest> requests;
  for (std::size_t place = 0; place < request.nodes.size(); ++place)
    if (auto words = reach_words(request, facts, place); !words.empty())
      requests.push_back({.place = place, .words = std::move(words)});
  return requests;
}

void check_reach(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                 std::span<const ReachAnswer> answers) {
  const auto addresses = joining_addresses(request, facts);
  const auto name = [&](std::size_t place) { return request.nodes[place].ranks.node.value; };
  std::string first;
  std::size_t more = 0;
  for (const ReachAnswer& answer : answers) {
    const agent::Records records(answer.text, "reach-nodes");
    for (const std::string& line : records.all("unreached")) {
      const std::size_t space = std::min(line.find(' '), line.size());
      const std::string target = line.substr(0, space);
      if (!first.empty()) {
        ++more;
        continue;
      }
      std::size_t other = 0;
      bool is_ssh = false;
      for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        const bool is_listener = ssh_target(request.nodes[i].peer) == target;
        if (!is_listener && (addresses.empty() || addresses[i] != target)) continue;
        other = i;
        is_ssh = is_listener;
      }
      first = name(answer.place) + " cannot reach " + name(other) + " at " + printable(target) +
              ", " + printable(line.substr(std::min(space + 1, line.size())), 200) +
              (is_ssh ? kSshAdvice : kAdvice);
    }
  }
  if (first.empty()) first = lost_packets(request, addresses, answers);
  if (first.empty()) return;
  if (more > 0) first += "; " + counted(more, "other connection") + " between nodes failed as well";
  throw Error(ErrorKind::remote, first);
}

}  // namespace fastgpu::launcher
