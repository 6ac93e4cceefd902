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

bool is_by_tcp(const LinkCounters& link) {
  return link.name.starts_with(kTcpLink);
}

/// Returns this host's address of a link by TCP.
std::string address_of(const LinkCounters& link) {
  return link.name.substr(kTcpLink.size());
}

/// Returns the name of a network within a sentence.
std::string network_of(const LinkCounters& link) {
  return is_by_tcp(link) ? "network of " + address_of(link) : link.name;
}

}  // namespace

std::vector<const LinkCounters*> open_links(std::span<const std::unique_ptr<Flow>> flows) {
  std::vector<const LinkCounters*> links;
  for (const auto& flow : flows)
    if (flow->is_open() && !flow->has_ended()) links.push_back(&flow->link());
  return links;
}

LinkCounters& TcpLinks::of(int socket) {
  return named(std::string(kTcpLink) + local_address(socket));
}

LinkCounters& TcpLinks::named(const std::string& name) {
  const auto known = std::ranges::find(links_, name, &LinkCounters::name);
  return known != links_.end() ? *known : links_.emplace_back(LinkCounters{.name = name});
}

void TcpLinks::given_up(Rank peer, LinkCounters& link, const std::string& reason) {
  given_up_.push_back({peer, &link, reason, std::chrono::steady_clock::now() + kLeaving});
}

void TcpLinks::warn_of_failure(Rank peer, const LinkCounters& link, const std::string& reason) {
  std::set<Rank>& ranks = failed_networks_[network_of(link)];
  const bool is_news = ranks.empty();
  ranks.insert(peer);
  if (is_news)
    events_.warned("the " + network_of(link) + " has failed on the way to rank " +
                   std::to_string(peer.value) + " (" + reason + ")" + outlook(peer, link));
}

/// Returns the end of a warning: what carries the share of a network that has failed. Connections
/// by networks that have failed may still be open.
std::string TcpLinks::outlook(Rank peer, const LinkCounters& failed) const {
  const auto is_working = [&](const LinkCounters* link) {
    const auto known = failed_networks_.find(network_of(*link));
    return known == failed_networks_.end() || !known->second.contains(peer);
  };
  const std::vector<const LinkCounters*> open = find_open_(peer);
  if (std::ranges::any_of(open, is_working)) return ": the others carry its share";
  if (std::ranges::find(open, &failed) != open.end())
    return ": its other connections carry the messages, and no other network is left";
  return ", and no other is left";
}

void TcpLinks::count_failure(GivenUp& given_up) {
  if (std::exchange(given_up.is_counted, true)) return;
  ++given_up.link->failures;
  warn_of_failure(given_up.peer, *given_up.link, given_up.reason);
}

/// The peer may have noticed the failure earlier: it has not left.
void TcpLinks::made_anew(Rank peer, LinkCounters& link) {
  for (GivenUp& each : given_up_)
    if (each.peer == peer && each.link == &link) count_failure(each);
  ++link.reconnects;
  if (failed_networks_.erase(network_of(link)) > 0)
    events_.warned("the " + network_of(link) + " is used again on the way to rank " +
                   std::to_string(peer.value));
}

std::vector<TcpLinks::Failure> TcpLinks::take_failures(const std::function<bool(Rank)>& is_there) {
  if (given_up_.empty()) return {};
  const auto now = std::chrono::steady_clock::now();
  std::vector<Failure> failures;
  std::erase_if(given_up_, [&](GivenUp& each) {
    if (!is_there(each.peer)) return true;
    if (now < each.due) return false;
    count_failure(each);
    failures.push_back({each.peer, each.link, is_by_tcp(*each.link) ? address_of(*each.link) : ""});
    return true;
  });
  return failures;
}

}  // namespace fastgpu::comm
