// The networks of this host that TCP connections go by: their counters, and those that have failed.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/transports/flow.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Returns the networks of the flows that are open.
std::vector<const LinkCounters*> open_links(std::span<const std::unique_ptr<Flow>> flows);

/// A network is known by this host's address on it.
class TcpLinks {
 public:
  /// A connection, or a flow by another network, that was given up while its peer went on.
  struct Failure {
    Rank peer{};
    const LinkCounters* link = nullptr;
    std::string address{};  ///< This host's address of the connection; empty for a flow.
  };

  /// Returns the networks by which connections to a peer are open.
  using FindOpen = std::function<std::vector<const LinkCounters*>(Rank)>;

  /// Borrows `events`, which get a sentence when a network fails, and when it is used again.
  TcpLinks(TransportEvents& events, FindOpen find_open)
      : events_(events), find_open_(std::move(find_open)) {}

  /// Returns the counters of the network that a connection goes by. They stay where they are.
  LinkCounters& of(int socket);
  /// Returns the counters of the network with that name. They stay where they are.
  LinkCounters& named(const std::string& name);
  const std::deque<LinkCounters>& all() const noexcept { return links_; }

  /// Notes a connection that was given up: a failure, unless its peer leaves soon.
  void given_up(Rank peer, LinkCounters& link, const std::string& reason);

  /// Warns of the network of a connection to `peer`, once until it is used again.
  void warn_of_failure(Rank peer, const LinkCounters& link, const std::string& reason);

  /// Counts a connection that was made in place of another, and that one as a failure.
  void made_anew(Rank peer, LinkCounters& link);

  /// Counts and warns of the connections that ended some time ago though their peer, as `is_there`
  /// has it, went on, and of flows by other networks. Returns each once.
  std::vector<Failure> take_failures(const std::function<bool(Rank)>& is_there);

 private:
  struct GivenUp {
    Rank peer{};
    LinkCounters* link = nullptr;
    std::string reason{};
    std::chrono::steady_clock::time_point due{};  ///< The time from which it counts as a failure.
    bool is_counted = false;
  };

  void count_failure(GivenUp& given_up);
  std::string outlook(Rank peer, const LinkCounters& failed) const;

  TransportEvents& events_;
  FindOpen find_open_;
  std::deque<LinkCounters> links_;  ///< A deque: its elements stay where they are.
  std::vector<GivenUp> given_up_;   ///< Links that are not counted yet.
  /// The networks of this host that were reported, and the ranks on the way to which they failed.
  std::map<std::string, std::set<Rank>> failed_networks_;
};

}  // namespace fastgpu::comm
