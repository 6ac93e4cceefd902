#include "comm/rendezvous/reconnections.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/common/interrupt.hpp"
#include "comm/rendezvous/endpoint.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The ranks of a job with two networks, 127.0.0.1 and 127.0.0.2, which make connections anew.
class ReconnectingRanks {
 public:
  explicit ReconnectingRanks(int size) {
    std::vector<std::vector<Endpoint>> endpoints(kAddresses.size());
    for (Rank rank{0}; rank.value < size; ++rank.value) {
      std::vector<JoinedNetwork> networks;
      for (std::size_t n = 0; n < kAddresses.size(); ++n) {
        JoinedNetwork network{listen_at(resolve(kAddresses[n], 0).front()), {}, endpoints[n]};
        network.listens_at = local_end(network.listener.get());
        endpoints[n].push_back(network.listens_at);
        networks.push_back(std::move(network));
      }
      const RetryTimes fast{.first = 10ms, .longest = 50ms, .stable = 10s};
      ranks_.push_back(std::make_unique<Reconnections>(
          PeerIdentity{.rank = rank, .size = size, .secret = Secret("s3cret"), .session = {}},
          std::move(networks), fast));
    }
  }

  void replace(int rank, int peer, std::size_t network) {
    ranks_[static_cast<std::size_t>(rank)]->replace({peer}, kAddresses[network]);
  }
  void forget(int rank, int peer) { ranks_[static_cast<std::size_t>(rank)]->forget({peer}); }

  /// Returns the sockets that a rank has got, by peer, once there are `count`, or after a limit.
  std::multimap<int, UniqueFd> made_by(int rank, std::size_t count,
                                       std::chrono::milliseconds limit = 20s) {
    Reconnections& one = *ranks_[static_cast<std::size_t>(rank)];
    std::multimap<int, UniqueFd> made;
    const Deadline deadline(limit);
    while (made.size() < count && !deadline.passed()) {
      pollfd bell{one.poll_descriptor(), POLLIN, 0};
      poll_until({&bell, 1}, deadline);
      for (Reconnector::Made& each : one.take())
        made.emplace(each.peer.value, std::move(each.socket));
    }
    return made;
  }

  static const std::vector<std::string> kAddresses;

 private:
  std::vector<std::unique_ptr<Reconnections>> ranks_;
};

const std::vector<std::string> ReconnectingRanks::kAddresses{"127.0.0.1", "127.0.0.2"};

bool are_connected(int one, int other) {
  const char sent = 'x';
  char got = 0;
  pollfd readable{other, POLLIN, 0};
  return ::send(one, &sent, 1, MSG_NOSIGNAL) == 1 &&
         poll_until({&readable, 1}, Deadline(20s)) == 1 && ::recv(other, &got, 1, 0) == 1 &&
         got == sent;
}

TEST_SUITE_BEGIN("comm/reconnections");

TEST_CASE("two ranks that have lost a connection get another one in the same network") {
  for (const std::size_t network : {std::size_t{0}, std::size_t{1}}) {
    ReconnectingRanks ranks(2);
    ranks.replace(0, 1, network);
    ranks.replace(1, 0, network);
    const auto of_first = ranks.made_by(0, 1);
    const auto of_second = ranks.made_by(1, 1);
    REQUIRE(of_first.contains(1));
    REQUIRE(of_second.contains(0));
    const int end = of_first.find(1)->second.get();
    CHECK(are_connected(end, of_second.find(0)->second.get()));
    CHECK(address_text(local_end(end)) == ReconnectingRanks::kAddresses[network]);
  }
}

TEST_CASE("a rank is refused until the other side has noticed the failure, and tries again") {
  ReconnectingRanks ranks(2);
  ranks.replace(1, 0, 0);
  CHECK(ranks.made_by(1, 1, 300ms).empty());
  ranks.replace(0, 1, 0);
  CHECK(ranks.made_by(1, 1).size() == 1);
  CHECK(ranks.made_by(0, 1).size() == 1);
}

TEST_CASE("each connection that several ranks have lost is made once") {
  ReconnectingRanks ranks(3);
  for (const std::size_t network : {std::size_t{0}, std::size_t{0}, std::size_t{1}})
    for (int rank = 0; rank < 3; ++rank)
      for (int peer = 0; peer < 3; ++peer)
        if (peer != rank) ranks.replace(rank, peer, network);
  for (int rank = 0; rank < 3; ++rank) {
    const auto made = ranks.made_by(rank, 6);
    CHECK(made.size() == 6);
    for (int peer = 0; peer < 3; ++peer)
      CHECK(made.count(peer) == (peer == rank ? 0 : 3));
    CHECK(ranks.made_by(rank, 1, 100ms).empty());
  }
}

TEST_CASE("no connection is made to a rank that is lost") {
  ReconnectingRanks ranks(2);
  ranks.replace(1, 0, 0);
  ranks.forget(1, 0);
  ranks.replace(0, 1, 0);
  ranks.forget(0, 1);
  CHECK(ranks.made_by(1, 1, 200ms).empty());
  CHECK(ranks.made_by(0, 1, 50ms).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
