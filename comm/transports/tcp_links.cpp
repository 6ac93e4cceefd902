#include "comm/transports/tcp_links.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

/// A peer that leaves ends its connections within this time. One that ends alone has failed.
constexpr std::chrono::milliseconds kLeaving{500};

constexpr std::string_view kTcpLink = "tcp ";

/// Returns this host's address of a link.
std::string address_of(const LinkCounters& link) {
  return link.name.substr(kTcpLink.size());
}

}  // namespace

LinkCounters& TcpLinks::of(int socket) {
  const std::string name = std::string(kTcpLink) + local_address(socket);
  const auto known = std::ranges::find(links_, name, &LinkCounters::name);
  return known != links_.end() ? *known : links_.emplace_back(LinkCounters{.name = name});
}

void TcpLinks::given_up(Rank peer, LinkCounters& link) {
  given_up_.push_back({peer, &link, std::chrono::steady_clock::now() + kLeaving});
}

void TcpLinks::warn_of_failure(Rank peer, const LinkCounters& link) {
  const std::string address = address_of(link);
  if (failed_addresses_.insert(address).second)
    events_.warned("the network of " + address + " has failed on the way to rank " +
                   std::to_string(peer.value) + ": other networks carry its share");
}

void TcpLinks::made_anew(Rank peer, LinkCounters& link) {
  const std::string address = address_of(link);
  ++link.reconnects;
  if (failed_addresses_.erase(address) > 0)
    events_.warned("the network of " + address + " is used again on the way to rank " +
                   std::to_string(peer.value));
}

std::vector<TcpLinks::Failure> TcpLinks::take_failures(const std::function<bool(Rank)>& is_there) {
  if (given_up_.empty()) return {};
  const auto now = std::chrono::steady_clock::now();
  std::vector<Failure> failures;
  std::erase_if(given_up_, [&](const GivenUp& each) {
    if (!is_there(each.peer)) return true;
    if (now < each.due) return false;
    ++each.link->failures;
    warn_of_failure(each.peer, *each.link);
    failures.push_back({each.peer, address_of(*each.link)});
    return true;
  });
  return failures;
}

}  // namespace fastgpu::comm
